"""A folder as a tar archive, made while it is sent: nothing is stored, and memory stays small."""

import os
import stat
import tarfile
from collections.abc import Generator, Iterator
from pathlib import Path

from dsportal.slurm.errors import PortalError

BLOCK_BYTES = tarfile.BLOCKSIZE
CHUNK_BYTES = 1024 * 1024
LEFT_OUT = "NOT-IN-THIS-ARCHIVE.txt"
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# A list of more is of no use to anybody.
_N_MOST_LISTED = 10_000


class _LeftOut:
    """What is not in the archive, and why."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._n = 0

    def note(self, path: str, why: str) -> None:
        self._n += 1
        if self._n <= _N_MOST_LISTED:
            self._lines.append(f"{path}: {why}\n")

    def text(self) -> bytes:
        more = self._n - len(self._lines)
        end = [f"and {more} more\n"] if more else []
        return "".join([*self._lines, *end]).encode("utf-8", "surrogateescape")


def stream_archive(folder: Path, *, with_hidden: bool) -> Generator[bytes, None, None]:
    """Yield a tar archive of a folder, piece by piece.

    Links are never followed. They, and what cannot be read, are named in a text file at the end.

    Source:
        pax(1), "ustar Interchange Format"; tar(5), two blocks of zeros at the end.
    """
    left_out = _LeftOut()
    try:
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError as error:
        raise PortalError(
            f"{folder.name} cannot be read: {error.strerror}.", http_status=404
        ) from error

    def note_unreadable(error: OSError) -> None:
        name = os.path.relpath(str(error.filename), folder)
        left_out.note(name, f"folder cannot be read: {error.strerror}")

    for path, folders, files, descriptor in os.fwalk(
        folder, onerror=note_unreadable, follow_symlinks=False
    ):
        inner = os.path.relpath(path, folder)
        within = Path(folder.name) if inner == "." else Path(folder.name, inner)
        if not with_hidden:
            folders[:] = [name for name in folders if not name.startswith(".")]
        # fwalk enters them in this order.
        folders.sort()
        found = os.fstat(descriptor)
        yield _header(f"{within}/", tarfile.DIRTYPE, found, 0)
        for name in sorted([*files, *folders]):
            if with_hidden or not name.startswith("."):
                shown = str(Path(name) if inner == "." else Path(inner, name))
                yield from _stream_file(str(within / name), name, descriptor, shown, left_out)
    text = left_out.text()
    if text:
        info = tarfile.TarInfo(f"{folder.name}/{LEFT_OUT}")
        info.size = len(text)
        yield info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        yield text + _padding(len(text))
    yield bytes(2 * BLOCK_BYTES)


def _stream_file(
    path: str, name: str, folder: int, shown: str, left_out: _LeftOut
) -> Iterator[bytes]:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            return
        if stat.S_ISLNK(found.st_mode):
            left_out.note(shown, f"a link to {os.readlink(name, dir_fd=folder)}")
            return
        if not stat.S_ISREG(found.st_mode):
            left_out.note(shown, "no file but a socket, a named pipe or a device")
            return
        descriptor = os.open(name, _OPEN, dir_fd=folder)
    except OSError as error:
        left_out.note(shown, f"cannot be read: {error.strerror}")
        return
    with open(descriptor, "rb", buffering=0) as file:
        yield _header(path, tarfile.REGTYPE, found, found.st_size)
        left = found.st_size
        while left:
            try:
                chunk = file.read(min(CHUNK_BYTES, left))
            except OSError as error:
                chunk = b""
                left_out.note(shown, f"could not be read to its end: {error.strerror}")
            if not chunk:
                break
            left -= len(chunk)
            yield chunk
        if left:
            left_out.note(shown, f"became shorter meanwhile: its last {left} bytes are zeros")
        while left:
            chunk = bytes(min(CHUNK_BYTES, left))
            left -= len(chunk)
            yield chunk
        yield _padding(found.st_size)


def _header(path: str, kind: bytes, found: os.stat_result, size: int) -> bytes:
    info = tarfile.TarInfo(path)
    info.type, info.size = kind, size
    info.mode, info.mtime = stat.S_IMODE(found.st_mode), int(found.st_mtime)
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _padding(size: int) -> bytes:
    return bytes(-size % BLOCK_BYTES)
