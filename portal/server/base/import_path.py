"""PYTHONPATH of a session: nothing of the notebook's folder, `dsportal`, and guarded ports."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from portal.environments.command import FIRST_IN_PATH, INSTALLED_START, LIBRARY_VARIABLE

VARIABLE = "PYTHONPATH"
# In a checkout; an installed portal has a copy in the server's environment.
_SOURCE = Path(__file__).parents[2] / "dsportal"


def drop_relative_paths(environ: MutableMapping[str, str]) -> None:
    """Keep a kernel from importing modules of the notebook's folder before the first cell runs.

    An empty part of PYTHONPATH means the folder that Python is started in, which for a kernel may
    belong to somebody else. Shell lines such as `PYTHONPATH=$PYTHONPATH:/software` make one.
    """
    if VARIABLE in environ:
        parts = environ[VARIABLE].split(os.pathsep)
        environ[VARIABLE] = os.pathsep.join(part for part in parts if os.path.isabs(part))


def offer_library(environ: MutableMapping[str, str], prefix: Path) -> None:
    """Let every Python of the session import `dsportal`, whatever environment it belongs to.

    The folder holds that package alone, so nothing of an environment is hidden.

    Args:
        environ: Changed: PYTHONPATH and PORTAL_LIBRARY.
        prefix: Environment of the notebook server.
    """
    folders = (folder for folder in (_SOURCE, prefix / "library") if folder.is_dir())
    if folder := next(folders, None):
        environ[LIBRARY_VARIABLE] = str(folder)
        environ[VARIABLE] = os.pathsep.join([*_parts(environ), str(folder)])


def guard_ports(environ: MutableMapping[str, str]) -> None:
    """Let only the user reach what debuggers and kernels open, in every Python of the session.

    The folder in front of PYTHONPATH holds `sitecustomize` alone, which runs the one that it hides.
    """
    library = environ.get(LIBRARY_VARIABLE)
    first = Path(library) / FIRST_IN_PATH if library else INSTALLED_START / "first"
    environ[VARIABLE] = os.pathsep.join([str(first), *_parts(environ)])


def _parts(environ: MutableMapping[str, str]) -> list[str]:
    return [part for part in environ.get(VARIABLE, "").split(os.pathsep) if part]
