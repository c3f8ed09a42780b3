"""The file that takes the variables of a notebook, within the room and the time that they have."""
# mypy: allow-untyped-defs, allow-untyped-calls

import errno
import os
import time

from .variable_words import size

# Seconds between two words about how far it is.
SHOW_S = 1.0


class TooMuchError(Exception):
    """The variables are too large, or take too long."""


class Writer:
    """A file that ends with an error what becomes too large, or takes too long.

    Args:
        show: Takes words about how far it is.
    """

    def __init__(self, file, max_bytes, max_s, show):
        self.file = file
        self.max_bytes = max_bytes
        self.max_s = max_s
        self.show = show
        self.begun_s = self.shown_s = time.monotonic()
        self.last = b""

    def write(self, data):
        """Write `data`.

        Raises:
            TooMuchError: If there is no more room or time.
        """
        now_s = time.monotonic()
        n_bytes = self.file.tell()
        if n_bytes + memoryview(data).nbytes > self.max_bytes:
            raise TooMuchError("The variables need more than " + size(self.max_bytes) + ".")
        if now_s - self.begun_s > self.max_s:
            raise TooMuchError(f"The variables took more than {self.max_s:.0f} s to save.")
        if now_s - self.shown_s > SHOW_S:
            self.shown_s = now_s
            self.show("The variables are being saved: " + size(n_bytes) + " so far.")
        self.last = data
        try:
            return self.file.write(data)
        except OSError as error:
            if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
                raise
            raise TooMuchError(
                "The variables do not fit into your home: " + os.strerror(error.errno) + "."
            ) from None
