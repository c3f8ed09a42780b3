"""Simulates slow storage: makes each opening of a file take some milliseconds longer.

A preloaded library (LD_PRELOAD) delays `open` for files below a folder. That needs no rights and
slows every reader in the process alike, including TensorFlow's in C++. Reading itself is not
slowed. It belongs to the product, since users compare their own storage with it:
`storage_report(..., open_ms=3)`.
"""

import os
import shutil
import subprocess
from pathlib import Path

from dsportal.errors import DataError

SOURCE = Path(__file__).with_name("slow_open.c")
_COMPILERS = ("cc", "gcc", "clang")


def slow_environment(folders: list[Path], open_ms: float, work_dir: Path) -> dict[str, str]:
    """Return the environment for a process that opens files below `folders` slowly.

    Each opening takes `open_ms` milliseconds longer. The library compiled into `work_dir` must
    outlive the process.
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
        # What the environment preloads already stays.
        "LD_PRELOAD": " ".join(filter(None, [str(library), os.environ.get("LD_PRELOAD", "")])),
        "SLOW_OPEN_DIR": f"{parent}{os.sep}",
        "SLOW_OPEN_US": str(round(open_ms * 1000)),
    }


def _compile(work_dir: Path) -> Path:
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise DataError(
            f"A wait of some milliseconds needs a C compiler, but none of {', '.join(_COMPILERS)} "
            "is on this node. Leave open_ms out, or measure on storage that is slow by itself."
        )
    library = work_dir / "slow_open.so"
    done = subprocess.run(
        # glibc before 2.34 has dlsym in a library of its own.
        [compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise DataError(f"{compiler} does not compile {SOURCE.name}: {done.stderr.strip()}")
    return library
