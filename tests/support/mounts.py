"""File systems that are full or do not answer, mounted where a test needs them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.one_machine.layout import NODES_DIR
from deploy.one_machine.supervisor import pid_of
from tests.support.put_back import put_back

_LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def full_home(user: str) -> Iterator[Path]:
    """Put a full file system of 1 MiB in the place of a user's home, on the head and the nodes."""
    account = pwd.getpwnam(user)
    home = Path(account.pw_dir)
    places = [[], *node_places()]
    options = f"size=1m,mode=700,uid={account.pw_uid},gid={account.pw_gid}"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(home)]
    fill = ["sh", "-c", f"dd if=/dev/zero of={home}/big bs=4k 2>/dev/null; chown {user} {home}/big"]
    with put_back(*([*place, "umount", "-l", home] for place in places)):
        for place in places:
            subprocess.run([*place, *mount], check=True, timeout=10)
            subprocess.run([*place, *fill], check=True, timeout=10)
        yield home


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mount an empty file system of 4 MiB over a folder, with the same owner."""
    owner = folder.stat()
    options = f"size=4m,mode=755,uid={owner.st_uid},gid={owner.st_gid}"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    subprocess.run(mount, check=True, timeout=10)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=10)


class SmallDisk:
    """A file system that can be filled and freed."""

    def __init__(self, folder: Path) -> None:
        self._filler = folder / "big"

    def fill(self) -> None:
        """Leave no byte free."""
        with self._filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def free(self) -> None:
        """Leave room again."""
        self._filler.unlink()


@contextlib.contextmanager
def hanging_mount(folder: Path) -> Iterator[None]:
    """Mount a file system whose server never answers over a folder."""
    try:
        server = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"/dev/fuse cannot be opened: {error.strerror}")
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if _LIBC.mount(b"hangs", str(folder).encode(), b"fuse", 0, options):
        os.close(server)
        pytest.skip(f"FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        # Without its server every call that hangs ends with an error.
        os.close(server)
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=10)


# As hanging_mount, where nobody can open /dev/fuse: the open file comes from outside.
_MOUNT = """\
import ctypes, os, sys
server, folder = sys.argv[1:]
options = f"fd={server},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"hangs", folder.encode(), b"fuse", 0, options):
    sys.exit(os.strerror(ctypes.get_errno()))
"""


@contextlib.contextmanager
def hanging_on_nodes(folder: Path) -> Iterator[None]:
    """Mount a file system whose server never answers over a folder, on each node."""
    with contextlib.ExitStack() as stack:
        for place in node_places():
            server = os.open("/dev/fuse", os.O_RDWR)
            argv = [*place, "/usr/bin/python3", "-Ic", _MOUNT, str(server), str(folder)]
            try:
                subprocess.run(argv, check=True, timeout=30, pass_fds=[server])
            except BaseException:
                os.close(server)
                raise
            unmount = [*place, "umount", "-l", str(folder)]
            stack.callback(subprocess.run, unmount, check=True, timeout=30)
            # Without its server every call that hangs ends with an error.
            stack.callback(os.close, server)
        yield


def node_places() -> list[list[str]]:
    """Return what runs a program with the files and processes of each node."""
    nodes = sorted(path.name for path in NODES_DIR.iterdir() if path.is_dir())
    # A node that the cluster no longer has left its folder.
    pids = [pid for pid in map(pid_of, nodes) if pid is not None]
    assert pids, f"no node of {NODES_DIR} runs: has deploy/up run?"
    # umount looks into the node's /proc for itself.
    return [["nsenter", f"--target={pid}", "--mount", "--pid"] for pid in pids]
