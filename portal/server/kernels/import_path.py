"""Where the kernels of a session look for Python's modules."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

VARIABLE = "PYTHONPATH"


def drop_relative_paths(environ: MutableMapping[str, str]) -> None:
    """Keep a kernel from loading modules of the notebook's folder before there is a cell.

    An empty part of the variable means the folder that Python is started in, which for a kernel may
    be somebody else's. Shell lines such as `PYTHONPATH=$PYTHONPATH:/software` make one.

    Args:
        environ: Environment of the kernels.
    """
    if VARIABLE in environ:
        parts = environ[VARIABLE].split(os.pathsep)
        environ[VARIABLE] = os.pathsep.join(part for part in parts if os.path.isabs(part))
