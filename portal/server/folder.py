"""A folder that is worked in without ever following a symbolic link."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe in the place of a file must not keep the session waiting.
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotPlainError(Exception):
    """Where a file or folder was expected there is a link or something else; the text names it."""


class Folder:
    """An open folder; names in it are single components.

    Args:
        descriptor: An open file descriptor of the folder, closed by `open_folder`.

    Source:
        open(2), O_NOFOLLOW; openat(2): what somebody renames meanwhile cannot lead elsewhere.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @contextmanager
    def enter(self, name: str) -> Iterator[Folder]:
        """Open a folder in this one, and make it where there is none.

        Args:
            name: Its name.

        Yields:
            The folder.

        Raises:
            NotPlainError: If a link or a file has this name.
            OSError: If it cannot be made or opened.
        """
        with suppress(FileExistsError):
            os.mkdir(name, mode=0o755, dir_fd=self._descriptor)
        try:
            descriptor = os.open(name, _OPEN_FOLDER, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise NotPlainError(f"{name} is not a folder but a link or a file") from error
            raise
        try:
            yield Folder(descriptor)
        finally:
            os.close(descriptor)

    def read(self, name: str) -> bytes | None:
        """Return what is in a file, or None where nothing has this name.

        Args:
            name: Its name.

        Returns:
            All of it.

        Raises:
            NotPlainError: If it is no plain file.
            OSError: If it cannot be read.
        """
        try:
            descriptor = os.open(name, _OPEN_FILE, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENXIO}:
                raise NotPlainError(f"{name} is not a plain file") from error
            raise
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotPlainError(f"{name} is not a plain file")
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Put a file in place whole, or not at all.

        Args:
            name: Its name; a file or link of this name is replaced.
            content: What is in it.

        Raises:
            OSError: If there is no room, or no permission.
        """
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

    Args:
        path: An existing folder, such as the user's home.

    Yields:
        The folder.

    Raises:
        OSError: If it cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield Folder(descriptor)
    finally:
        os.close(descriptor)
