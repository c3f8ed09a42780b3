"""Drops files from the kernel's page cache, so that the next read comes from storage.

Run as a program, it takes one path a line on standard input. No rights are needed for one's own
files and for readable files of others. Pages that are still dirty are written out first.

Source: posix_fadvise(2), POSIX_FADV_DONTNEED.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path


def forget(paths: Iterable[str]) -> None:
    """Drop files from the page cache.

    A separate process does it, without LD_PRELOAD, so that a slowed `open` does not slow this too.
    """
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    # Names on Linux are bytes; those that are not UTF-8 survive this way.
    lines = "\n".join(paths).encode("utf-8", "surrogateescape")
    program = Path(__file__).resolve()
    subprocess.run([sys.executable, program], input=lines, env=env, check=False)


def _forget(path: bytes) -> None:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        # DONTNEED skips dirty pages.
        os.fdatasync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError:
        # The file system has no page cache.
        return
    finally:
        os.close(file)


if __name__ == "__main__":
    for _line in sys.stdin.buffer.read().splitlines():
        _forget(_line)
