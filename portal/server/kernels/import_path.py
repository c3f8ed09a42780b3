"""Cleans PYTHONPATH for the kernels of a session."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

VARIABLE = "PYTHONPATH"


def drop_relative_paths(environ: MutableMapping[str, str]) -> None:
    """Keep a kernel from importing modules of the notebook's folder before the first cell runs.

    An empty part of PYTHONPATH means the folder that Python is started in, which for a kernel may
    belong to somebody else. Shell lines such as `PYTHONPATH=$PYTHONPATH:/software` make one.
    """
    if VARIABLE in environ:
        parts = environ[VARIABLE].split(os.pathsep)
        environ[VARIABLE] = os.pathsep.join(part for part in parts if os.path.isabs(part))
