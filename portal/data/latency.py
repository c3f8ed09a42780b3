"""Storage whose files take longer to open: what a network file system would cost, anywhere.

Each file that is opened for reading below a folder takes some milliseconds more. A library that is
loaded before others (LD_PRELOAD) waits in `open`, so it needs no rights, and every reader of the
process is slowed in the same way, TensorFlow's in C++ too. It adds nothing to the reading itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from portal.data.errors import DataError

SOURCE = Path(__file__).with_name("slow_open.c")
_COMPILERS = ("cc", "gcc", "clang")


def slow_environment(folders: list[Path], open_ms: float, work_dir: Path) -> dict[str, str]:
    """Return the environment of a process for which files take longer to open.

    Args:
        folders: Files below these are slow; they have one parent in common that is not the root.
        open_ms: How much longer each takes, milliseconds.
        work_dir: An empty folder for the library.

    Returns:
        Variables of the environment.

    Raises:
        DataError: If there is no C compiler, or the folders have nothing in common.
    """
    parent = os.path.commonpath(folders)
    if parent == os.sep:
        raise DataError(
            f"{', '.join(map(str, folders))} have no folder in common but {os.sep}; what lies "
            "below one folder can be slowed. Put both into one."
        )
    library = _compile(work_dir)
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(filter(None, [str(library), os.environ.get("LD_PRELOAD", "")])),
        "SLOW_OPEN_DIR": f"{parent}{os.sep}",
        "SLOW_OPEN_US": str(round(open_ms * 1000)),
    }


def _compile(work_dir: Path) -> Path:
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise DataError(
            f"A wait of some milliseconds needs a C compiler; none of {', '.join(_COMPILERS)} is "
            "on this node. Leave open_ms out, or measure on storage that is slow by itself."
        )
    library = work_dir / "slow_open.so"
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise DataError(f"{compiler} does not compile {SOURCE.name}: {done.stderr.strip()}")
    return library
