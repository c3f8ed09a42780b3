"""Builds the commands that start and probe the kernel of an environment; runs nothing."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import dsportal
from portal.environments.entry import Environment, Kind
from portal.environments.languages import PYTHON, R

# `module` is a shell function that only its own script defines. Nothing from the registry is in the
# text of this script: names come as its arguments.
_LOAD_MODULES = """\
init=$1; shift
. "$init" || { echo "$init, which defines the command module, failed" >&2; exit 78; }
while [ "$1" != -- ]; do
    module load "$1" || { echo "module load $1 failed" >&2; exit 78; }
    shift
done
shift
exec "$@"
"""
# Apart from PATH, `conda activate` runs these scripts of the packages.
_ACTIVATE_CONDA = """\
for script in "$CONDA_PREFIX"/etc/conda/activate.d/*.sh; do
    [ -r "$script" ] && . "$script"
done
exec "$@"
"""
_BASH = ("/bin/bash", "--noprofile", "--norc", "-c")
# Names the folder that kernels import `dsportal` from, and no other package.
LIBRARY_VARIABLE = "PORTAL_LIBRARY"
# The folder in it with the program of Python kernels, and the one that is first in PYTHONPATH, so
# that Python runs its `sitecustomize`.
START = "dsportal/start"
INSTALLED_START = Path(dsportal.__path__[0]) / "start"
FIRST_IN_PATH = f"{START}/first"
_R_START = (files("portal.environments") / "r_start.sh").read_text("utf-8")
_KERNELS = {
    PYTHON: ("-f", "{connection_file}"),
    # Without a saved workspace, whose functions R could call when it starts.
    R: (
        *("--slave", "--no-restore"),
        *("-e", "IRkernel::main()", "--args", "{connection_file}"),
    ),
}
# Names the kernel, as in `dsportal job new --kernel`.
KERNEL_VARIABLE = "PORTAL_KERNEL"
# Names the folder with the ipykernel of an image that has none.
KERNEL_PACKAGES_VARIABLE = "PORTAL_KERNEL_PACKAGES"
# Tells `dsportal`, in a kernel of an image, how its ranks enter the same image.
IMAGE_VARIABLE = "PORTAL_IMAGE_START"
# `dsportal` is behind all else, as in the kernel.
_RANK_START = (
    "import os, sys; sys.path.append(os.environ['PORTAL_LIBRARY']); import runpy; "
    "runpy.run_module('dsportal.worker.rank', run_name='__main__', alter_sys=True)"
)
# Marks our line: a module's script, for one, may print something first.
PACKAGES_MARK = "dsportal-packages"
# If a name is twice on the search path, the first is imported. Python before 3.8 lacks the module
# and reports no packages.
_PYTHON_PROBE = f"""\
import os, sys
beside = os.environ.get("{KERNEL_PACKAGES_VARIABLE}")
sys.path += filter(None, [beside])
import ipykernel
if beside:
    # Here the image's packages meet others.
    import ipykernel.kernelapp
try:
    from importlib.metadata import distributions
except ImportError:
    raise SystemExit
found = {{}}
for one in distributions():
    found.setdefault(one.metadata["Name"], one.version)
print("{PACKAGES_MARK}", *("%s==%s" % pair for pair in found.items() if all(pair)))
"""
_R_PROBE = (
    "invisible(loadNamespace('IRkernel')); "
    f"cat('{PACKAGES_MARK}', rownames(installed.packages()), '\\n')"
)
_PROBES = {
    PYTHON: ("-c", _PYTHON_PROBE),
    # R before 4.0 does not know --no-echo, the newer name of --slave.
    R: ("--slave", "-e", _R_PROBE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What the node offers to environments.

    Attributes:
        module_init: The shell script that defines `module`, or None.
        container: Path of apptainer or singularity, or None.
        binds: Folders that are mounted into every image, on all nodes.
        session_binds: Those of this node's session alone.
        python_path: PYTHONPATH for the kernels of images; None leaves the session's.
        has_gpus: Whether images get the GPUs of the session.
        start: The folder with the program of Python kernels, also in images.
    """

    module_init: Path | None = None
    container: Path | None = None
    binds: tuple[Path, ...] = ()
    session_binds: tuple[Path, ...] = ()
    python_path: str | None = None
    has_gpus: bool = False
    start: Path = INSTALLED_START


def kernel_spec(environment: Environment, node: Node) -> dict[str, Any]:
    """Return the content of an environment's kernel.json, as JSON values.

    Source:
        https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs
    """
    is_r = environment.language is R
    is_python3 = environment.language is PYTHON
    program = (f"{node.start}/kernel.py",) if is_python3 else ()
    argv = enter(environment, node, (*program, *_KERNELS.get(environment.language, ())))
    if driver := environment.language.driver:
        # Without the notebook's folder, whose files could hide packages.
        start = f"import sys; sys.path.remove(''); from {driver} import main; main()"
        argv = [sys.executable, "-c", start, "-f", "{connection_file}", "--", *argv]
    if is_r:
        argv = [*_BASH, _R_START, "dsportal", *argv]
    return {
        "argv": argv,
        "display_name": environment.name,
        "language": "R" if is_r else "python",
        # Jupyter puts the server's PATH in when it starts the kernel.
        "env": {
            **_kernel_name(environment),
            **_python_path(environment, node),
            **_image_start(environment, node),
            **variables(environment, path="${PATH}"),
        },
        "metadata": {"debugger": is_python3 and environment.kind is not Kind.INTERPRETER},
    }


def probe(environment: Environment, node: Node) -> list[str]:
    """Return a command that fails if the kernel could not start.

    It prints PACKAGES_MARK and what is installed, separated by blanks: for Python as NAME==VERSION,
    for R as NAME.
    """
    return enter(environment, node, environment.language.probe or _PROBES[environment.language])


def variables(environment: Environment, *, path: str) -> Mapping[str, str]:
    """Return the environment variables to set for a kernel, given the PATH that it would have."""
    own: dict[str, str] = {}
    if environment.kind in {Kind.VIRTUALENV, Kind.CONDA}:
        # Its own bin first, so that "!pip" in a cell is the one of this kernel.
        own["PATH"] = f"{environment.path}/bin:{path}"
        is_conda = environment.kind is Kind.CONDA
        own["CONDA_PREFIX" if is_conda else "VIRTUAL_ENV"] = str(environment.path)
    if environment.kernel_packages is not None:
        own[KERNEL_PACKAGES_VARIABLE] = str(environment.kernel_packages)
        # Where the folder is removed meanwhile, its mount goes and Python would make it again.
        own["PYTHONDONTWRITEBYTECODE"] = "1"
    return own | dict(environment.variables)


def _kernel_name(environment: Environment) -> Mapping[str, str]:
    # What a job file activates: only a Python that is no image can be.
    is_python = environment.language is PYTHON and environment.kind is not Kind.IMAGE
    return {KERNEL_VARIABLE: environment.id} if is_python else {}


def _python_path(environment: Environment, node: Node) -> Mapping[str, str]:
    # With the session's, that of an image's own would be lost; the kernel adds `dsportal` itself.
    if environment.kind is not Kind.IMAGE or node.python_path is None:
        return {}
    return {"PYTHONPATH": node.python_path}


def _image_start(environment: Environment, node: Node) -> Mapping[str, str]:
    is_python = environment.language is PYTHON
    if environment.kind is not Kind.IMAGE or not is_python or node.python_path is None:
        return {}
    # The job that starts the ranks needs a PYTHONPATH of its own.
    path = environment.variables.get("PYTHONPATH", node.python_path)
    # Folders of this session are missing on other nodes.
    container, *rank = enter(environment, replace(node, session_binds=()), ("-c", _RANK_START))
    # Its messages would be among the ranks' own lines.
    enter_quietly = ["/usr/bin/env", f"PYTHONPATH={path}", container, "--quiet", *rank]
    return {IMAGE_VARIABLE: json.dumps({"python": sys.executable, "rank": enter_quietly})}


def enter(environment: Environment, node: Node, arguments: Sequence[str]) -> list[str]:
    """Return a command that runs an environment's interpreter with `arguments`."""
    inside = [environment.program, *arguments]
    match environment.kind:
        case Kind.VIRTUALENV:
            return [f"{environment.path}/bin/{environment.program}", *arguments]
        case Kind.CONDA:
            inside[0] = f"{environment.path}/bin/{environment.program}"
            return [*_BASH, _ACTIVATE_CONDA, "dsportal", *inside]
        case Kind.MODULES:
            words = [str(node.module_init), *environment.modules, "--", *inside]
            return [*_BASH, _LOAD_MODULES, "dsportal", *words]
        case Kind.IMAGE:
            folders = (*node.binds, *node.session_binds, *environment.binds)
            binds = [f"--bind={folder}" for folder in folders]
            if (beside := environment.kernel_packages) is not None:
                binds.append(f"--bind={beside}:{beside}:ro")
            gpus = ["--nv"] if node.has_gpus else []
            return [str(node.container), "exec", *gpus, *binds, str(environment.path), *inside]
        case Kind.INTERPRETER:
            return [str(environment.path), *arguments]
