"""Files and folders with exactly the wanted content, owner and mode.

Some lie in folders that belong to an unprivileged account, which can put a link in their place.
Root never follows such a link: owner and mode are set on the opened file, not on a path.
"""

import contextlib
import errno
import fcntl
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from deploy.common.errors import DeployError


def ensure_folder(path: Path, *, mode: int = 0o755, user: str = "root", group: str = "") -> None:
    """Create a folder if it is missing, and set its owner and mode.

    An empty `group` is the owner's own.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (FileExistsError, NotADirectoryError) as error:
        raise DeployError(
            f"{path} is not a folder; a link there is not followed.",
            next_step=f"Find out where {path} comes from, move it away and run the command again.",
        ) from error
    try:
        _own(folder, mode, user, group)
    finally:
        os.close(folder)


def ensure_file(
    path: Path, content: str, *, mode: int = 0o644, user: str = "root", group: str = ""
) -> bool:
    """Write a file atomically if its content differs, and set its owner and mode.

    Anything but a plain file, such as a link, is replaced by one. An empty `group` is the owner's
    own.

    Returns:
        Whether the content had to be written.
    """
    with _plain_file(path) as file:
        if file is not None and _read(file) == content:
            _own(file, mode, user, group)
            return False
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    # O_EXCL follows no link that somebody puts there, and nobody reads the file before it is whole.
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
        written.write(content)
        _own(written.fileno(), mode, user, group)
    os.replace(new, path)
    return True


@contextlib.contextmanager
def alone(lock: Path, waiting: str) -> Iterator[None]:
    """Wait until no other run holds a lock; `waiting` is printed if one does."""
    with lock.open("w") as file:
        try:
            # First without waiting, so that a terminal that stands still says why.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(waiting, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure_link(path: Path, target: Path) -> bool:
    """Make a link unless something is in its place already, which is left alone.

    Returns:
        Whether it had to be made.
    """
    if path.is_symlink() or path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return True


def remove_link(path: Path, target: Path) -> None:
    """Remove a link if it leads to `target`."""
    if path.is_symlink() and path.readlink() == target:
        path.unlink()


def read_plain(path: Path) -> str | None:
    """Return the text of a plain file; None if there is none.

    Safe if an unprivileged account could have replaced the file by a link.
    """
    with _plain_file(path) as file:
        return None if file is None else _read(file)


def ensure_secret(path: Path, content: str, *, user: str = "root") -> str:
    """Return a secret that only `user` can read; the first one written stays.

    `content` is the secret for a first run.
    """
    with _plain_file(path) as file:
        if file is not None and (kept := _read(file).strip()):
            _own(file, 0o600, user, "")
            return kept
    ensure_file(path, content + "\n", mode=0o600, user=user)
    return content


@contextlib.contextmanager
def _plain_file(path: Path) -> Iterator[int | None]:
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        # ELOOP is a link, ENXIO a socket.
        if error.errno not in {errno.ENOENT, errno.ELOOP, errno.ENXIO}:
            raise
        yield None
        return
    try:
        status = os.fstat(file)
        # A second name for a file of somebody else is as bad as a link to it.
        yield file if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 else None
    finally:
        os.close(file)


def _read(file: int) -> str:
    # A file of other bytes simply differs; it is no reason to stop.
    with open(file, errors="replace", closefd=False) as text:
        return text.read()


def _own(file: int, mode: int, user: str, group: str) -> None:
    owner = pwd.getpwnam(user)
    group_id = grp.getgrnam(group).gr_gid if group else owner.pw_gid
    now = os.fstat(file)
    # Owner first: changing it clears a program's set-uid and set-gid bits.
    if (now.st_uid, now.st_gid) != (owner.pw_uid, group_id):
        os.fchown(file, owner.pw_uid, group_id)
    if now.st_mode & 0o7777 != mode:
        os.fchmod(file, mode)
