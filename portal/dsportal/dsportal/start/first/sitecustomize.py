"""Python runs this first in a session: what it opens to the node is then for its own user alone.

It looks for this name on PYTHONPATH, where this folder is in front. Debuggers and kernels are
guarded when they are imported; until then nothing is loaded, since every program pays for it.
An old Python runs this file, too.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import os
import sys

FIRST = os.path.dirname(os.path.abspath(__file__))
DEBUGGER = ("connection_user.py", "debugger_ports.py")
KERNEL = ("connection_user.py", "kernel_ports.py", "python_path.py", "kernel_start.py")


class PortGuard:
    """Finds the modules that open ports, as Python would, and changes what they do."""

    def find_spec(self, name, path=None, target=None):
        """Return what Python's own finders say of a module in GUARDS, and None of any other.

        Args:
            name: Of the module, with its packages.
            path: Where its package is, or None.
            target: As Python gives it.
        """
        if name not in GUARDS:
            return None
        for finder in sys.meta_path:
            # Old finders do not have it.
            find = getattr(finder, "find_spec", None)
            spec = finder is not self and find and find(name, path, target)
            if spec:
                return guarded(spec)
        return None


def guarded(spec):
    """Return the spec of a module with its guard, which runs once the module has run."""
    run = spec.loader.exec_module

    def run_with_guard(module):
        run(module)
        # An archive has one loader for all its modules.
        if module.__name__ == spec.name:
            GUARDS[spec.name](module)

    spec.loader.exec_module = run_with_guard
    return spec


def guard_debugger(module):
    """Close connections of other users to a debugger; `module` is the part that listens."""
    read(DEBUGGER)["guard_listeners"](module)


def guard_kernel(module):
    """Let a kernel that an editor starts by itself run as the portal's do.

    ipykernel before 6 is left as it is, and so is a kernel outside of sessions.

    Args:
        module: `ipykernel.kernelapp`.
    """

    def launch(argv=None, **options):
        read(KERNEL)["start_kernel"](argv, **options)

    is_known = sys.modules["ipykernel"].version_info[0] >= 6
    if is_known and os.environ.get("PORTAL_SERVER_SOCKET"):
        module.launch_new_instance = launch


def read(names):
    """Run files as one text, and return what they define; each of `names` needs those before it."""
    text = ""
    for name in names:
        with open(os.path.join(os.path.dirname(FIRST), name)) as lines:
            text += lines.read()
    defined = {"__name__": "dsportal_start"}
    exec(compile(text, FIRST, "exec"), defined)  # noqa: S102
    return defined


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


GUARDS = {
    "debugpy.common.sockets": guard_debugger,
    "_pydevd_bundle.pydevd_comm": guard_debugger,
    "ipykernel.kernelapp": guard_kernel,
}
# An old Python finds modules in another way.
if sys.version_info >= (3, 7):  # noqa: UP036 - the session has Pythons of any age
    sys.meta_path.insert(0, PortGuard())
if __name__ == "sitecustomize":
    run_the_next()
