"""Python runs this first in a session: what it opens to the node is then for its own user alone.

It looks for this name on PYTHONPATH, where this folder is in front. Debuggers and kernels are
guarded when they are imported, and TensorFlow's notes are left out; until then nothing is loaded,
since every program pays for it. An old Python runs this file, too.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import os
import sys

FIRST = os.path.dirname(os.path.abspath(__file__))


class Finder:
    """Finds the modules of RUN_BY as Python would, and has them run by what is said there."""

    def find_spec(self, name, path=None, target=None):
        """Return what Python says of the module `name` in RUN_BY, else None.

        Its finders give `path`, where the package is, and `target`.
        """
        if name not in RUN_BY:
            return None
        for finder in sys.meta_path:
            # Old finders do not have it.
            find = getattr(finder, "find_spec", None)
            spec = finder is not self and find and find(name, path, target)
            if spec:
                return run_otherwise(spec)
        return None


def run_otherwise(spec):
    """Return the spec of a module that one of RUN_BY runs."""
    run = spec.loader.exec_module

    def run_one(module):
        # An archive has one loader for all its modules.
        by = RUN_BY[spec.name] if module.__name__ == spec.name else _call
        by(run, module)

    spec.loader.exec_module = run_one
    return spec


def _call(run, module):
    """Run a module as Python would."""
    run(module)


def _guard_debugger(run, module):
    """Close connections of other users to a debugger; `module` is the part that listens."""
    run(module)
    _load("debugger_ports").guard_listeners(module)


def guard_kernel(run, module):
    """Let a kernel that an editor starts by itself run as the portal's do.

    ipykernel before 6 is left as it is, and so is a kernel outside of sessions.

    Args:
        run: Runs a module.
        module: `ipykernel.kernelapp`.
    """
    run(module)

    def launch(argv=None, **options):
        _load("kernel_start").start_kernel(argv, **options)

    is_known = sys.modules["ipykernel"].version_info[0] >= 6
    if is_known and os.environ.get("PORTAL_SERVER_SOCKET"):
        module.launch_new_instance = launch


def _quiet(run, module):
    """Leave out what TensorFlow logs, below the level of the environment, while it is imported."""
    with _load("tensorflow_log").notes_left_out():
        run(module)


def _load(name):
    """Import a module of the folder above, by what starts kernels there."""
    import runpy

    kernel = os.path.join(os.path.dirname(FIRST), "kernel.py")
    return runpy.run_path(kernel, run_name="dsportal_start")["load"](name)


def run_the_next():
    """Run the `sitecustomize` that Python would have run, such as that of a module or of Debian."""
    for folder in sys.path:
        file = os.path.join(folder, "sitecustomize.py")
        if os.path.abspath(folder) != FIRST and os.path.isfile(file):
            with open(file, "rb") as code:
                text = code.read()
            names = {"__name__": __name__, "__file__": file}
            exec(compile(text, file, "exec"), names)  # noqa: S102
            return


RUN_BY = {
    "debugpy.common.sockets": _guard_debugger,
    "_pydevd_bundle.pydevd_comm": _guard_debugger,
    "ipykernel.kernelapp": guard_kernel,
    "tensorflow": _quiet,
}
# An old Python finds modules in another way.
if sys.version_info >= (3, 7):  # noqa: UP036 - the session has Pythons of any age
    sys.meta_path.insert(0, Finder())
if __name__ == "sitecustomize":
    run_the_next()
