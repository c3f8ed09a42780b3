"""Opens an environment to the group of a project."""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from portal.environments.errors import RegistryError

_READ = stat.S_IRGRP
_ENTER = stat.S_IRGRP | stat.S_IXGRP


def group_id(name: str, folder: Path) -> int:
    """Return the group of this name, or if it is "" that of the next folder above which exists.

    Raises:
        RegistryError: If there is no such group, or the user is not in it.
    """
    if name:
        try:
            id_ = grp.getgrnam(name).gr_gid
        except KeyError:
            raise RegistryError(f"There is no group {name!r:.60}. {_own_groups()}") from None
    else:
        id_ = next(path for path in folder.parents if path.is_dir()).stat().st_gid
    if os.geteuid() != 0 and id_ not in {os.getegid(), *os.getgroups()}:
        raise RegistryError(f"You are not in the group {group_name(id_)}. {_own_groups()}")
    return id_


def _own_groups() -> str:
    ids = dict.fromkeys([os.getegid(), *os.getgroups()])
    return f"Name one of yours with --share=GROUP: {', '.join(map(group_name, ids))}."


def group_name(gid: int) -> str:
    """Return the name of a group, by its number, or the number if it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def share(folder: Path, group: int) -> None:
    """Let a group read what is in a folder and start its programs, but change nothing.

    Raises:
        OSError: If the group or mode of a file cannot be changed.
    """
    for path in (folder, *folder.rglob("*")):
        # Before the mode, whose bits a change of the group can clear.
        os.chown(path, -1, group, follow_symlinks=False)
        if path.is_symlink():
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        opened = _ENTER if path.is_dir() or mode & stat.S_IXUSR else _READ
        path.chmod((mode | opened) & ~stat.S_IWGRP)


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
