"""Whose program is at the other end of a connection within the node."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any

from .tcp_table import read_tcp_table

# The table of all connections takes 10 ms and more on a host with much memory; one is found in 0.1.
# Source: sock_diag(7), struct inet_diag_req_v2 and struct inet_diag_msg.
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NETLINK_HEADER = struct.Struct("=IHHII")
REQUEST = struct.Struct("=BBBxI")
ENDS = struct.Struct("!HH16s16s")
ANY_INTERFACE_AND_COOKIE = bytes(4) + b"\xff" * 8
ANSWER_HEAD = struct.Struct("=BBxx")
# After it the answer has the ends again, expiry and two queues.
USER_AND_INODE = struct.Struct("=II")
USER_AT = NETLINK_HEADER.size + ANSWER_HEAD.size + ENDS.size + len(ANY_INTERFACE_AND_COOKIE) + 12
ESTABLISHED = 1
# What stands in front of an IPv4 address in an IPv6 socket.
MAPPED = bytes(10) + b"\xff\xff"
# Stands for all users whom a user namespace does not know; overflowuid of proc(5).
UNKNOWN_UID = 65534
# The map of a namespace that knows all users: there it is the account "nobody".
MAP_OF_ALL_USERS = ["0", "0", "4294967295"]


def is_own_users(there: tuple[Any, ...], here: tuple[Any, ...]) -> bool:
    """Return whether who has connected is the user of this process.

    Args:
        there: Where the connection comes from, as `socket.accept` gives it.
        here: Where it leads to.
    """
    return user_of(there, here) == os.getuid()


def user_of(there: tuple[Any, ...], here: tuple[Any, ...]) -> int | None:
    """Return the uid of who has connected.

    It can be compared with os.getuid() in a user namespace, too, such as that of an image: this
    process has opened the table, so the table's numbers are those of its namespace.

    Args:
        there: Address and port that the connection comes from, as `socket.accept` gives them.
        here: Address and port that it leads to.

    Returns:
        None if nobody on this node holds that end any more, or a user whom the namespace does not
        know.
    """
    owner = ask_kernel(there, here)
    if owner is not None:
        return _known(owner)
    # Closed by now, or a kernel that has only the table. There the connecting program may have a
    # socket of the other family.
    ends = {tuple(table_form(end, is_wide=wide) for end in (there, here)) for wide in (False, True)}
    for one in read_tcp_table():
        if (one.here, one.there) in ends and one.inode:
            return _known(one.uid)
    return None


def ask_kernel(there: tuple[Any, ...], here: tuple[Any, ...]) -> int | None:
    """Return the uid of the established socket at `there` that is connected to `here`.

    Returns:
        None if there is none, or if this kernel cannot be asked for one connection.
    """
    source, target = _packed(there), _packed(here)
    family = socket.AF_INET if len(source) == 4 else socket.AF_INET6
    request = REQUEST.pack(family, socket.IPPROTO_TCP, 0, 1 << ESTABLISHED)
    request += ENDS.pack(there[1], here[1], source, target) + ANY_INTERFACE_AND_COOKIE
    size = NETLINK_HEADER.size + len(request)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as kernel:
            kernel.send(NETLINK_HEADER.pack(size, SOCK_DIAG_BY_FAMILY, 1, 0, 0) + request)
            answer = kernel.recv(4096)
    except OSError:
        return None
    _, kind, *_ = NETLINK_HEADER.unpack_from(answer)
    # Else it is an error: no such socket.
    if kind != SOCK_DIAG_BY_FAMILY:
        return None
    _, state = ANSWER_HEAD.unpack_from(answer, NETLINK_HEADER.size)
    uid, inode = USER_AND_INODE.unpack_from(answer, USER_AT)
    return uid if state == ESTABLISHED and inode else None


def _known(uid: int) -> int | None:
    return uid if uid != UNKNOWN_UID or knows_all_users() else None


def _packed(end: tuple[Any, ...]) -> bytes:
    """Return the address of an end, that of IPv4 in its own form."""
    # A link-local address names its interface, too.
    address = end[0].partition("%")[0]
    packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    return packed[len(MAPPED) :] if packed.startswith(MAPPED) else packed


def table_form(end: tuple[Any, ...], *, is_wide: bool) -> str:
    """Return a connection's end as a table has it.

    Args:
        end: Address and port, perhaps followed by what IPv6 adds.
        is_wide: Whether it is the table tcp6, in which IPv4 addresses are mapped.
    """
    packed = _packed(end)
    if is_wide and len(packed) == 4:
        packed = MAPPED + packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{end[1]:04X}"


def knows_all_users() -> bool:
    """Return whether the user namespace has a number for every user of the machine.

    Source:
        user_namespaces(7), uid_map: first uid inside, first uid outside, number of uids.
    """
    with open("/proc/self/uid_map") as uid_map:
        return uid_map.read().split() == MAP_OF_ALL_USERS
