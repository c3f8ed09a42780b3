"""Starts a program of the user that ends with the notebook server, also where that is killed.

    child_process.py PARENT_PID SIGNAL NETWORK PROGRAM ARGUMENT ...

NETWORK is "shared", or "private" for one that nobody else reaches. Needs only the standard library.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1

# Tells a program why its network is not private.
REASON_VARIABLE = "PORTAL_NETWORK_IS_SHARED"
_NO_NAMESPACE = "this node does not let users make network namespaces"


class PrivateNetworkError(Exception):
    """There can be no private network here; the text says why."""


def die_with(parent_pid: int, number: int = signal.SIGKILL) -> bool:
    """Have the kernel signal this process as soon as the one that started it ends.

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


def bound(
    command: Sequence[str], *, number: int = signal.SIGKILL, has_private_network: bool = False
) -> list[str]:
    """Return the command that starts `command` so that it ends with this process.

    Args:
        number: The signal that ends it.
        has_private_network: Whether nobody else shall reach its ports. Where this node does not let
            users have that, the program starts all the same and finds the reason in
            PORTAL_NETWORK_IS_SHARED.
    """
    network = "private" if has_private_network else "shared"
    own = (sys.executable, "-IS", __file__, str(os.getpid()), str(int(number)), network)
    return [*own, *command]


def main() -> NoReturn:
    """Become the program; end if the notebook server is gone already."""
    parent_pid, number, network, *command = sys.argv[1:]
    if not die_with(int(parent_pid), int(number)):
        sys.exit(1)
    if network == "private":
        try:
            enter_private_network()
        except PrivateNetworkError as error:
            os.environ[REASON_VARIABLE] = str(error)
    os.execvp(command[0], command)  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    main()
