"""File operations in a folder that never follow a symbolic link."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a named pipe in place of a file must not block the session.
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# O_EXCL refuses every link of that name, even one that leads nowhere.
_MAKE_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotPlainError(Exception):
    """A link or something else is in place of the expected file or folder, which the text names."""


class Folder:
    """An open folder; names in it are single components.

    Args:
        descriptor: An open file descriptor; its owner, such as `open_folder`, closes it.

    Source:
        open(2), O_NOFOLLOW; openat(2): a rename by somebody else meanwhile cannot lead elsewhere.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def names(self) -> list[str]:
        """Return the names in it, sorted.

        Raises:
            OSError: If it cannot be read.
        """
        return sorted(os.listdir(self._descriptor))

    def is_folder(self, name: str) -> bool:
        """Return whether the name is that of a folder; False for a link to one and for nothing."""
        try:
            mode = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mode
        except OSError:
            return False
        return stat.S_ISDIR(mode)

    @contextmanager
    def enter(self, name: str, *, makes: bool = True) -> Iterator[Folder]:
        """Open a folder in this one, made first if it is absent and `makes` is set.

        Raises:
            NotPlainError: If a link or a file has this name.
            OSError: If it cannot be made or opened.
        """
        if makes:
            with suppress(FileExistsError):
                os.mkdir(name, mode=0o755, dir_fd=self._descriptor)
        try:
            descriptor = os.open(name, _OPEN_FOLDER, dir_fd=self._descriptor)
        except OSError as error:
            # O_NOFOLLOW refuses links with ELOOP, O_DIRECTORY files with ENOTDIR.
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise NotPlainError(f"{name} is not a folder but a link or a file") from error
            raise
        try:
            yield Folder(descriptor)
        finally:
            os.close(descriptor)

    def read(self, name: str, most_bytes: int = -1) -> bytes | None:
        """Return the content of a file, or None if nothing has this name.

        Args:
            name: A single component.
            most_bytes: Largest size that is accepted; -1 for no limit.

        Raises:
            NotPlainError: If it is no plain file, or larger than that.
            OSError: If it cannot be read.
        """
        try:
            descriptor = os.open(name, _OPEN_FILE, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            # ENXIO: a socket.
            if error.errno in {errno.ELOOP, errno.ENXIO}:
                raise NotPlainError(f"{name} is not a plain file") from error
            raise
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotPlainError(f"{name} is not a plain file")
            # One byte more shows that it is larger.
            content = file.read(most_bytes + 1 if most_bytes >= 0 else -1)
            if 0 <= most_bytes < len(content):
                raise NotPlainError(f"{name} holds more than {most_bytes} bytes")
            return content

    def write(self, name: str, content: bytes) -> None:
        """Replace or create a file atomically; a link of this name is replaced, too.

        Raises:
            OSError: If there is no room, or no permission.
        """
        # In the same folder, since a rename stays within one file system.
        temporary = f".{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, _MAKE_FILE, mode=0o644, dir_fd=self._descriptor)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
            os.rename(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except OSError:
            os.unlink(temporary, dir_fd=self._descriptor)
            raise


@contextmanager
def open_folder(path: Path) -> Iterator[Folder]:
    """Open a folder to work in; the path itself is trusted and may hold links.

    Raises:
        OSError: If it cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield Folder(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def open_below(root: Path, names: Iterable[str], *, makes: bool) -> Iterator[Folder]:
    """Open a folder below `root`, reached by `names` without following links.

    Args:
        root: Its own path is trusted and may hold links.
        names: Of the folders on the way and of the last one.
        makes: Whether they are made if they are absent.

    Raises:
        NotPlainError: If a link or a file is on the way.
        OSError: If one cannot be made or opened.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(open_folder(root))
        for name in names:
            folder = stack.enter_context(folder.enter(name, makes=makes))
        yield folder


def read_below(root: Path, relative: PurePosixPath, most_bytes: int) -> bytes | None:
    """Return the content of the file `relative` below `root`, or None if there is none.

    Raises:
        NotPlainError: If there is a link or something else on the way, or the file is larger than
            `most_bytes`.
        OSError: If it cannot be read.
    """
    try:
        with open_below(root, relative.parts[:-1], makes=False) as folder:
            return folder.read(relative.name, most_bytes)
    except FileNotFoundError:
        return None
