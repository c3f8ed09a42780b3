"""Tests whether an environment works on this node, and if not, why."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from portal.environments.command import (
    FIRST_IN_PATH,
    INSTALLED_START,
    LIBRARY_VARIABLE,
    PACKAGES_MARK,
    START,
    Node,
    probe,
    variables,
)
from portal.environments.entry import Environment, Kind

PROBE_TIMEOUT_S = 60.0
# environment-modules and Lmod, as in Debian and elsewhere.
_MODULE_INITS = (
    "{MODULESHOME}/init/bash",
    "{LMOD_PKG}/init/bash",
    "/etc/profile.d/modules.sh",
    "/etc/profile.d/lmod.sh",
    "/usr/share/lmod/lmod/init/bash",
    "/usr/share/modules/init/bash",
)
_CONTAINERS = ("apptainer", "singularity")
_SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/apptainer/bin"
_SHOWN_ERROR_CHARS = 300
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentTrial:
    """The result of trying an environment on this node.

    Attributes:
        problem: Why it does not work here, or "".
        packages: What is installed in it, as NAME==VERSION; None if it does not report that.
    """

    problem: str = ""
    packages: tuple[str, ...] | None = None


def probe_node(environ: Mapping[str, str] = os.environ, *session_binds: Path) -> Node:
    """Find what this node offers to environments.

    Args:
        environ: Environment of the session: PATH, MODULESHOME, LMOD_PKG, PORTAL_GPUS_SIMULATED,
            PORTAL_LIBRARY, PYTHONPATH and the session's settings.
        session_binds: Folders of this session to mount into every image, such as that of
            connection files.
    """
    inits = (
        init.format_map({"MODULESHOME": "", "LMOD_PKG": "", **environ}) for init in _MODULE_INITS
    )
    # Without MODULESHOME or LMOD_PKG the name begins with /init/.
    found = (Path(init) for init in inits if init[:6] != "/init/" and os.access(init, os.R_OK))
    path = f"{environ.get('PATH', '')}:{_SEARCH_PATH}"
    programs = (shutil.which(name, path=path) for name in _CONTAINERS)
    container = next((program for program in programs if program), None)
    from portal.settings.session_tables import read_settings

    named = [Path(folder) for folder in read_settings(environ).environments.image_binds]
    library = environ.get(LIBRARY_VARIABLE, "")
    start = Path(library) / START if library else INSTALLED_START
    named.append(Path(library) if library else start)
    own = {library, f"{library}/{FIRST_IN_PATH}"}
    python_path = [part for part in environ.get("PYTHONPATH", "").split(":") if part not in own]
    return Node(
        module_init=next(found, None),
        container=Path(container) if container else None,
        binds=tuple(folder for folder in named if os.path.isdir(folder)),
        session_binds=tuple(folder for folder in session_binds if os.path.isdir(folder)),
        python_path=":".join(python_path) if library else None,
        has_gpus=environ.get("PORTAL_GPUS_SIMULATED") != "1",
        start=start,
    )


def quick_problem(environment: Environment, node: Node) -> str:
    """Return why an environment cannot work on this node, or ""; nothing is run."""
    if environment.kind is Kind.MODULES:
        if node.module_init is None:
            return "This node has neither environment-modules nor Lmod."
        return ""
    if environment.kind is Kind.IMAGE:
        if node.container is None:
            return "This node has neither apptainer nor singularity."
        if not os.access(str(environment.path), os.R_OK):
            return f"The image {environment.path} does not exist or cannot be read on this node."
        # Path.is_dir fails for a folder that may not be entered.
        if (beside := environment.kernel_packages) is not None and not os.path.isdir(beside):
            return (
                f"{beside}, which has the ipykernel of the image, does not exist or cannot be read "
                "on this node. Remove the environment and add it again."
            )
        return ""
    program = environment.path
    if environment.kind in {Kind.VIRTUALENV, Kind.CONDA}:
        program = Path(f"{environment.path}/bin/{environment.program}")
    if not program or not os.access(program, os.X_OK):
        return f"{program} does not exist or cannot be run on this node."
    return ""


def try_environment(
    environment: Environment, node: Node, *, timeout_s: float = PROBE_TIMEOUT_S
) -> EnvironmentTrial:
    """Try an environment on this node, by having its interpreter load its kernel."""
    if seen := quick_problem(environment, node):
        return EnvironmentTrial(problem=seen)
    environ = os.environ | dict(variables(environment, path=os.environ.get("PATH", "")))
    try:
        done = subprocess.run(
            probe(environment, node),
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            # "-c" imports from the current folder first, which may be a notebook's.
            cwd="/",
        )
    except subprocess.TimeoutExpired:
        return EnvironmentTrial(problem=f"It did not answer within {timeout_s:g} s.")
    except OSError as error:
        return EnvironmentTrial(problem=f"It cannot be started: {error.strerror}.")
    if done.returncode == 0:
        return EnvironmentTrial(packages=_packages_in(done.stdout.decode("utf-8", "replace")))
    words, needed = last_words(done.stderr) or "none", environment.language.needs
    return EnvironmentTrial(
        problem=f"It does not start a kernel, because it needs {needed}. Its last output: {words}."
    )


def last_words(printed: bytes) -> str:
    """Return the end of what a program printed, as one line without colours and a full stop."""
    text = _COLOUR.sub("", printed.decode("utf-8", "replace"))
    return " ".join(text.split())[-_SHOWN_ERROR_CHARS:].rstrip(" .")


def _packages_in(printed: str) -> tuple[str, ...] | None:
    lines = [line.split() for line in printed.splitlines()]
    found = next((words[1:] for words in lines if words[:1] == [PACKAGES_MARK]), None)
    return None if found is None else tuple(sorted(found, key=str.lower))
