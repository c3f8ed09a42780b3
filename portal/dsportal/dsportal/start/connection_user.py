"""Whose program is at the other end of a connection within the node."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any

from .tcp_table import read_tcp_table

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
    # The connecting program may have a socket of the other family.
    ends = {tuple(table_form(end, is_wide=wide) for end in (there, here)) for wide in (False, True)}
    for one in read_tcp_table():
        if (one.here, one.there) in ends and one.inode:
            return one.uid if one.uid != UNKNOWN_UID or knows_all_users() else None
    return None


def table_form(end: tuple[Any, ...], *, is_wide: bool) -> str:
    """Return a connection's end as a table has it.

    Args:
        end: Address and port, perhaps followed by what IPv6 adds.
        is_wide: Whether it is the table tcp6, in which IPv4 addresses are mapped.
    """
    address, port = end[:2]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # A link-local address names its interface, too, which the table does not.
    packed = socket.inet_pton(family, address.partition("%")[0])
    if is_wide and len(packed) == 4:
        packed = MAPPED + packed
    elif not is_wide and packed.startswith(MAPPED):
        packed = packed[len(MAPPED) :]
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"


def knows_all_users() -> bool:
    """Return whether the user namespace has a number for every user of the machine.

    Source:
        user_namespaces(7), uid_map: first uid inside, first uid outside, number of uids.
    """
    with open("/proc/self/uid_map") as uid_map:
        return uid_map.read().split() == MAP_OF_ALL_USERS
