"""Where a guest's notebook lies: no link of somebody else leads from there to another one."""

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

_NAME = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
# Linux's own limit: path_resolution(7).
_MOST_LINKS = 40
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Place:
    """What a path means at one moment.

    Attributes:
        content: Of the file; None if there is none that a guest may read.
        is_own: Nobody but the user and root can change what the path means.
    """

    content: bytes | None
    is_own: bool


def look(root: Path, path: str) -> Place:
    """Return what a path below `root` means; links are followed if they are the user's or root's.

    Source:
        The kernel's own rule for links in /tmp, protected_symlinks: proc_sys_fs(5).
    """
    with contextlib.ExitStack() as opened:
        walk = _Walk(opened, root)
        try:
            file = walk.to(path)
            with open(os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_CLOEXEC), "rb") as text:
                return Place(text.read(), walk.is_own)
        except PermissionError:
            return Place(None, is_own=False)
        except OSError:
            return Place(None, walk.is_own)


class _Walk:
    def __init__(self, opened: contextlib.ExitStack, root: Path) -> None:
        self._opened = opened
        self.is_own = True
        # The root itself is the site's choice, whatever leads to it.
        self._folder = self._keep(os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))

    def to(self, path: str) -> int:
        """Return a descriptor of the regular file at the end.

        Raises:
            FileNotFoundError: If there is none, or another OSError.
            PermissionError: If a link of somebody else is in the way.
        """
        names, n_links = path.split("/")[::-1], 0
        while names:
            name = names.pop()
            folder, was_own = os.fstat(self._folder), self.is_own
            self.is_own &= _is_mine(folder) and not folder.st_mode & _OTHERS_WRITE
            # The name is opened first, so that what is looked at is what is followed.
            here = self._keep(os.open(name or ".", _NAME, dir_fd=self._folder))
            found = os.fstat(here)
            if folder.st_mode & stat.S_ISVTX and _is_mine(folder) and _is_mine(found):
                # As in /tmp, where nobody else can replace it.
                self.is_own = was_own
            if stat.S_ISLNK(found.st_mode):
                n_links += 1
                if not _is_mine(found) or n_links > _MOST_LINKS:
                    raise PermissionError(path)
                target = os.readlink("", dir_fd=here)
                if target.startswith("/"):
                    self._folder = self._keep(os.open("/", os.O_PATH | os.O_CLOEXEC))
                names += target.split("/")[::-1]
            elif stat.S_ISDIR(found.st_mode):
                self._folder = here
            elif names or not stat.S_ISREG(found.st_mode):
                break
            else:
                return here
        raise FileNotFoundError(path)

    def _keep(self, descriptor: int) -> int:
        self._opened.callback(os.close, descriptor)
        return descriptor


def _is_mine(found: os.stat_result) -> bool:
    return found.st_uid in {0, os.geteuid()}
