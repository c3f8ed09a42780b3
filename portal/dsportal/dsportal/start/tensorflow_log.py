"""Makes `import tensorflow` respect TF_CPP_MIN_LOG_LEVEL.

TensorFlow 2.21 logs through absl before it has set absl up, whatever that level says; two of the
lines, about oneDNN, on every processor with AVX-512 VNNI. In a notebook they look like a fault.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_STDERR = 2
_SEVERITIES = b"IWEF"
_BEFORE_SETUP = b"WARNING: All log messages before absl::InitializeLog() is called"
# "I0000 00:00:1795350234.867177    9754 port.cc:153] oneDNN custom operations are on."
_NOTE = re.compile(rb"([IWEF])\d{4} [\d:.]+ +\d+ [\w./-]+:\d+\] ")


def without_notes(printed: bytes, level: int) -> bytes:
    """Return what a library wrote, without the absl log lines below a level.

    Args:
        printed: Lines; those that absl did not write are all kept.
        level: TensorFlow's: 0 shows all, 1 hides information, 2 also warnings, 3 also errors.
    """
    return b"".join(line for line in printed.splitlines(keepends=True) if _is_asked(line, level))


def _is_asked(line: bytes, level: int) -> bool:
    if line.startswith(_BEFORE_SETUP):
        return level < 1
    note = _NOTE.match(line)
    return note is None or _SEVERITIES.index(note[1]) >= level


def read_level(text: str | None) -> int:
    """Return the value of TF_CPP_MIN_LOG_LEVEL as a level, 0 to 3.

    Args:
        text: None if it is not set; what is no number counts as 0, as TensorFlow takes it.
    """
    return min(int(text), 3) if text and text.isdecimal() else 0


@contextmanager
def notes_left_out() -> Iterator[None]:
    """Hold back standard error, then print what the level asks for, as in `without_notes`."""
    level = read_level(os.environ.get(LEVEL))
    # No TensorFlow for a Python before 3.8 prints these notes.
    if level == 0 or not hasattr(os, "memfd_create"):
        yield
        return
    _flush()
    kept = os.dup(_STDERR)
    # A descriptor, since TensorFlow's C++ code does not write to sys.stderr.
    held = os.memfd_create("stderr")
    os.dup2(held, _STDERR)
    try:
        yield
    finally:
        _flush()
        os.dup2(kept, _STDERR)
        # Read from the beginning: the descriptor's offset is where the last writer left it.
        printed = os.pread(held, os.fstat(held).st_size, 0)
        os.close(held)
        os.close(kept)
        os.write(_STDERR, without_notes(printed, level))


def _flush() -> None:
    # sys.stderr is None in a program without one.
    if sys.stderr is not None:
        sys.stderr.flush()
