"""Writes a session's output to its log and keeps the log under a limit.

    log_limit MOST_BYTES < pipe >> log

The notebook server starts it with the log as its standard output, and gives the other end of the
pipe to itself and all its children. So nobody else writes the log, and nothing is lost when its
older half is dropped. It ends with the last process that prints. Needs only the standard library.
"""

import atexit
import fcntl
import logging
import os
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress

_CHUNK_BYTES = 64 * 1024
_DRAIN_S = 2.0
_POLL_S = 0.005
_LOG, _ERRORS = 1, 2
log = logging.getLogger("dsportal")


def limit_log(most_bytes: int) -> None:
    """Limit the log of this process, and of all processes that it starts from now on.

    Args:
        most_bytes: Size that the log never exceeds; 0 for no limit. Output that is not a file is
            not limited either.
    """
    out, errors = os.fstat(_LOG), os.fstat(_ERRORS)
    # sbatch's --output is one file for both streams; anything else is not the job's log.
    if not most_bytes or not stat.S_ISREG(out.st_mode) or not os.path.samestat(out, errors):
        return
    reading, writing = os.pipe()
    # -I -S: nothing that the user has installed can take the place of the standard library.
    argv = [sys.executable, "-I", "-S", __file__, str(most_bytes)]
    try:
        # The keeper ignores the signals that end a session, from its start on, and so ends last.
        subprocess.Popen(argv, stdin=reading, preexec_fn=_ignore_signals)
    except OSError as error:
        log.warning("The log of this session has no limit: %s", error)
        os.close(writing)
        return
    finally:
        os.close(reading)
    # In place of the descriptors, not of sys.stdout: children and C code print there, too.
    os.dup2(writing, _LOG)
    os.dup2(writing, _ERRORS)
    os.close(writing)
    # The last lines say why a session ended; Slurm kills the keeper right after the server.
    atexit.register(_wait_until_written)


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)


def _wait_until_written() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    until = time.monotonic() + _DRAIN_S
    while _n_unread(_LOG) and time.monotonic() < until:
        time.sleep(_POLL_S)


def _n_unread(pipe: int) -> int:
    try:
        answer = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    except OSError:
        return 0
    return int(struct.unpack("i", answer)[0])


class LogFile:
    """The log, limited in size.

    Args:
        descriptor: Of the file, open for writing. Slurm writes its own last lines through it, too.
    """

    def __init__(self, descriptor: int, most_bytes: int) -> None:
        self._descriptor = descriptor
        self._most_bytes = most_bytes

    def write(self, text: bytes) -> None:
        """Append output, and drop the older half of the log first if it would not fit.

        Raises:
            OSError: If the disk is full.
        """
        view = memoryview(text)
        while view:
            # With half of the log kept, a piece of a quarter always fits.
            piece = view[: self._most_bytes // 4]
            if os.fstat(self._descriptor).st_size + len(piece) > self._most_bytes:
                self._cut()
            view = view[os.write(self._descriptor, piece) :]

    def _cut(self) -> None:
        # A descriptor opened only for appending can neither read nor write at the start.
        whole = os.open(f"/proc/self/fd/{self._descriptor}", os.O_RDWR | os.O_CLOEXEC)
        try:
            size = os.fstat(whole).st_size
            begin = max(0, size - self._most_bytes // 2)
            tail = _whole_lines(os.pread(whole, size - begin, begin))
            note = f"[{size - len(tail)} bytes of this log were dropped: it is limited]\n".encode()
            # The new start first: a keeper that is killed here leaves too much, not too little.
            n_bytes = os.pwrite(whole, note + tail, 0)
            os.ftruncate(whole, n_bytes)
            os.lseek(self._descriptor, 0, os.SEEK_END)
        finally:
            os.close(whole)


def _whole_lines(tail: bytes) -> bytes:
    _, newline, rest = tail.partition(b"\n")
    return rest if newline else tail


def main() -> None:
    """Copy the pipe into the log until no process writes to it any more."""
    kept = LogFile(_LOG, int(sys.argv[1]))
    while text := os.read(0, _CHUNK_BYTES):
        # A full disk must not block the processes that print.
        with suppress(OSError):
            kept.write(text)


if __name__ == "__main__":
    main()
