"""A file that a program is still writing, read piece by piece."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dsportal.slurm.errors import OptionsError

MAX_OUTPUT_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A piece of the output of a job or a rank.

    Attributes:
        next_offset: Start of the next piece, in bytes from the start of the file.
        path: The output file, or "" if it is not known.
    """

    text: str
    next_offset: int
    path: str


def read_piece(path: Path, offset: int) -> Output:
    """Return at most 128 KiB of a file.

    Args:
        path: The file; one that does not exist yet is empty.
        offset: In bytes from the start of the file; a negative one means the last 128 KiB.
    """
    try:
        with open_plain(path) as file:
            n_bytes = os.fstat(file.fileno()).st_size
            begin = max(0, n_bytes - MAX_OUTPUT_BYTES) if offset < 0 else min(offset, n_bytes)
            file.seek(begin)
            content = file.read(MAX_OUTPUT_BYTES)
    except FileNotFoundError:
        return Output(text="", next_offset=0, path=str(path))
    except OSError as error:
        raise OptionsError(f"The output {path} cannot be read ({error.strerror}).") from error
    text = content.decode("utf-8", "replace")
    return Output(text=text, next_offset=begin + len(content), path=str(path))


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file to read."""
    # O_NONBLOCK, so that a named pipe cannot block a thread of the server.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no plain file")
    return os.fdopen(descriptor, "rb")
