"""Keeps notes of C++ libraries out of a cell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR = 2


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Drop what libraries write to the process's standard error; Python's own errors stay.

    TensorFlow 2.21 prints notes about oneDNN when it is imported, whatever TF_CPP_MIN_LOG_LEVEL
    says.
    """
    kept = os.dup(_STDERR)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, _STDERR)
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(nowhere)
        os.close(kept)
