"""A file server that squashes root, as NFS does: shares.py EXPORTED_FOLDER MOUNT_POINT.

NFS needs a kernel that has it; this is its stand-in over FUSE. Each operation is done with the
user id, group and groups of who asks, and with those of nobody where root asks. So root can
neither read nor write what its owner keeps to himself, and files are never root's.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import pwd
import stat
import sys
from collections.abc import Iterator
from typing import Any

import fusepy

NOBODY = 65534
SYS_SETGROUPS = {"x86_64": 116, "aarch64": 159}[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)
ATTRIBUTES = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_atime", "st_mtime")
SPACE = ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree")


@functools.lru_cache
def groups_of(user_id: int, group_id: int) -> tuple[int, ...]:
    """Return all groups of a user, as a file server that manages groups knows them."""
    try:
        return tuple(os.getgrouplist(pwd.getpwuid(user_id).pw_name, group_id))
    except KeyError:
        return (group_id,)


@contextlib.contextmanager
def as_caller() -> Iterator[None]:
    """Let this thread have the rights of who asks; the kernel then forgets those of root."""
    user_id, group_id, _ = fusepy.fuse_get_context()
    if user_id == 0:
        user_id = group_id = NOBODY
    set_identity(user_id, group_id, groups_of(user_id, group_id))
    try:
        yield
    finally:
        set_identity(0, 0, ())


def set_identity(user_id: int, group_id: int, groups: tuple[int, ...]) -> None:
    """Set what file systems look at, of this thread only."""
    if user_id == 0:
        libc.setfsuid(0)
    numbers = (ctypes.c_uint32 * len(groups))(*groups)
    if libc.syscall(SYS_SETGROUPS, len(groups), numbers) != 0:
        raise OSError(ctypes.get_errno(), "setgroups")
    libc.setfsgid(group_id)
    libc.setfsuid(user_id)


class Share(fusepy.Operations):
    """Operations on the exported folder."""

    def __init__(self, exported: str) -> None:
        self.exported = exported

    def __call__(self, operation: str, path: str, *arguments: Any) -> Any:
        """Do one operation with the rights of who asks."""
        if not hasattr(self, operation):
            raise fusepy.FuseOSError(errno.EFAULT)
        with as_caller():
            return getattr(self, operation)(self.exported + (path or ""), *arguments)

    def access(self, path: str, mode: int) -> None:
        # Of the process, root is the real user; the effective one is who asks.
        if not os.access(path, mode, effective_ids=True):
            raise fusepy.FuseOSError(errno.EACCES)

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(path, mode)

    def chown(self, path: str, user_id: int, group_id: int) -> None:
        os.chown(path, _signed(user_id), _signed(group_id), follow_symlinks=False)

    def create(self, path: str, mode: int, _: Any = None) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def flush(self, _path: str, file: int) -> None:
        os.close(os.dup(file))

    def fsync(self, _path: str, _data: int, file: int) -> None:
        os.fsync(file)

    def getattr(self, path: str, _: Any = None) -> dict[str, Any]:
        return {name: getattr(os.lstat(path), name) for name in (*ATTRIBUTES, "st_ctime")}

    def link(self, target: str, source: str) -> None:
        os.link(self.exported + source, target, follow_symlinks=False)

    def mkdir(self, path: str, mode: int) -> None:
        os.mkdir(path, mode)

    def mknod(self, path: str, mode: int, device: int) -> None:
        os.mknod(path, mode, device)

    def open(self, path: str, flags: int) -> int:
        return os.open(path, flags & ~os.O_CREAT)

    def opendir(self, path: str) -> int:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        return 0

    def read(self, _path: str, size: int, offset: int, file: int) -> bytes:
        return os.pread(file, size, offset)

    def readdir(self, path: str, _: Any) -> list[str]:
        return [".", "..", *os.listdir(path)]

    def readlink(self, path: str) -> str:
        return os.readlink(path)

    def release(self, _path: str, file: int) -> None:
        os.close(file)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, self.exported + new)

    def rmdir(self, path: str) -> None:
        os.rmdir(path)

    def statfs(self, path: str) -> dict[str, Any]:
        space = os.statvfs(path)
        return {name: getattr(space, name) for name in SPACE}

    def symlink(self, path: str, source: str) -> None:
        os.symlink(source, path)

    def truncate(self, path: str, length: int, file: int | None = None) -> None:
        os.truncate(path if file is None else file, length)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def utimens(self, path: str, times: tuple[float, float] | None = None) -> None:
        os.utime(path, times, follow_symlinks=False)

    def write(self, _path: str, data: bytes, offset: int, file: int) -> int:
        return os.pwrite(file, data, offset)


def _signed(number: int) -> int:
    return -1 if number in {-1, 2**32 - 1} else number


def main(exported: str, mount_point: str) -> None:
    """Serve until the machine ends."""
    os.umask(0)
    if not stat.S_ISDIR(os.stat(exported).st_mode):
        raise SystemExit(f"{exported} is no folder")
    # Without default_permissions the kernel leaves the decision to the server.
    fusepy.FUSE(Share(exported), mount_point, foreground=True, allow_other=True, fsname="squashed")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
