"""A process that ends with its parent, in a network that nobody else reaches."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1

_NO_NAMESPACE = "this node does not let users make network namespaces"


class PrivateNetworkError(Exception):
    """There can be no private network here; the text says why."""


def die_with(parent_pid: int, number: int = signal.SIGKILL) -> bool:
    """Have the kernel signal this process as soon as the one that started it ends.

    Args:
        parent_pid: The one that started it.
        number: The signal's number.

    Returns:
        False if `parent_pid` had ended before this was in force.

    Source:
        prctl(2), PR_SET_PDEATHSIG.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    return os.getppid() == parent_pid


def enter_private_network() -> None:
    """Move this process into a network namespace of its own, with nothing but a loopback.

    In here nobody else can reach a port. Call it before any thread exists.

    Raises:
        PrivateNetworkError: If the kernel or the site forbids user namespaces.

    Source:
        user_namespaces(7) for the maps, netdevice(7) for the interface flags.
    """
    user_id, group_id = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None)
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        raise PrivateNetworkError(_NO_NAMESPACE)
    try:
        # The kernel refuses gid_map of an unprivileged process until setgroups is denied.
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user_id} {user_id} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group_id} {group_id} 1", encoding="ascii")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            loopback = struct.pack("16sh14x", b"lo", 0)
            (flags,) = struct.unpack("16xh14x", fcntl.ioctl(control, _SIOCGIFFLAGS, loopback))
            loopback = struct.pack("16sh14x", b"lo", flags | _IFF_UP)
            fcntl.ioctl(control, _SIOCSIFFLAGS, loopback)
    except OSError as error:
        raise PrivateNetworkError(_NO_NAMESPACE) from error
