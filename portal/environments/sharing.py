"""Opens an environment to the group of a project."""

import grp
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from portal.environments.errors import RegistryError

_READ = stat.S_IRGRP
_ENTER = stat.S_IRGRP | stat.S_IXGRP


def group_id(name: str, folder: Path, *, option: str = "--share") -> int:
    """Return the group of this name, or if it is "" that of the next folder above which exists.

    The `option` of the command is for the sentence that refuses.
    """
    if name:
        try:
            id_ = grp.getgrnam(name).gr_gid
        except KeyError:
            raise RegistryError(f"There is no group {name!r:.60}. {_own_groups(option)}") from None
    else:
        id_ = next(path for path in folder.parents if path.is_dir()).stat().st_gid
    if os.geteuid() != 0 and id_ not in {os.getegid(), *os.getgroups()}:
        raise RegistryError(f"You are not in the group {group_name(id_)}. {_own_groups(option)}")
    return id_


def own_groups() -> list[str]:
    """Return the names of the user's groups, the primary one first."""
    return [group_name(id_) for id_ in dict.fromkeys([os.getegid(), *os.getgroups()])]


def _own_groups(option: str) -> str:
    return f"Name one of yours with {option}=GROUP: {', '.join(own_groups())}."


def group_name(gid: int) -> str:
    """Return the name of a group, by its number, or the number if it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def share(folder: Path, group: int) -> None:
    """Let a group read what is in a folder and start its programs, but change nothing."""
    for path in (folder, *folder.rglob("*")):
        # Before the mode, whose bits a change of the group can clear.
        _separate(path)
        os.chown(path, -1, group, follow_symlinks=False)
        if path.is_symlink():
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        opened = _ENTER if path.is_dir() or mode & stat.S_IXUSR else _READ
        path.chmod((mode | opened) & ~stat.S_IWGRP)


def unshare(folder: Path) -> None:
    """Let nobody but the user read what is in a folder."""
    for path in (folder, *folder.rglob("*")):
        _separate(path)
        if not path.is_symlink():
            path.chmod(stat.S_IMODE(path.stat().st_mode) & stat.S_IRWXU)
        os.chown(path, -1, os.getegid(), follow_symlinks=False)


def _separate(path: Path) -> None:
    """Replace a file that is linked with uv's cache by a copy: there it would change, too."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_nlink == 1:
        return
    copy = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        shutil.copy2(path, copy)
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)


def closed_folder(path: Path, group: int) -> Path | None:
    """Return the first folder on the way to a path that the group cannot enter, or None."""
    return next((one for one in _way_to(path) if not _is_open(one, group)), None)


def _way_to(path: Path) -> Iterator[Path]:
    return reversed(path.resolve().parents)


def _is_open(folder: Path, group: int) -> bool:
    status = folder.stat()
    if status.st_gid == group:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
