"""Files and folders behind names that no symbolic link leads away from."""

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: a named pipe in place of a file must not block the session.
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotPlainError(OSError):
    """A link or something else is in place of the expected file or folder, which the text names."""


def read_plain(
    path: Path | str, most_bytes: int = -1, *, folder: int | None = None
) -> bytes | None:
    """Return the content of a file, or None if nothing has this name.

    Args:
        path: Its last part may be no link.
        most_bytes: Largest size that is accepted; -1 for no limit.
        folder: Descriptor of the open folder that has the file.

    Raises:
        NotPlainError: If it is no plain file, or larger than that.
    """
    name = os.path.basename(path)
    try:
        descriptor = os.open(path, _OPEN_FILE, dir_fd=folder)
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


def read_below(root: Path, relative: PurePosixPath, most_bytes: int) -> bytes | None:
    """Return the content of a file below `root`, whose own path may hold links.

    Source:
        openat(2): a rename by somebody else meanwhile cannot lead elsewhere.
    """
    with ExitStack() as opened:
        folder = os.open(root, _OPEN_FOLDER)
        opened.callback(os.close, folder)
        for name in relative.parts[:-1]:
            folder = os.open(name, _OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            opened.callback(os.close, folder)
        return read_plain(relative.name, most_bytes, folder=folder)


def enter(root: Path, names: Iterable[str]) -> Path:
    """Return a folder below `root`, which is the user's and may be a link; it is made if absent.

    Raises:
        NotPlainError: If a link or a file is on the way.
    """
    folder = root
    for name in names:
        folder /= name
        with suppress(FileExistsError):
            folder.mkdir(mode=0o755)
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise NotPlainError(f"{name} is not a folder but a link or a file")
    return folder
