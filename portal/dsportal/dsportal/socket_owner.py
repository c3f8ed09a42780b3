"""Finds the user at the other end of a TCP connection within one host."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

Address = IPv4Address | IPv6Address
End = tuple[Address, int]

TABLES_DIR = Path("/proc/net")
# After the socket's number, both ends, state, queues, timer and retransmits.
_UID_FIELD = 7


def socket_owner(here: End, there: End, tables_dir: Path = TABLES_DIR) -> int | None:
    """Return the uid that owns a TCP socket of this host, found by its two ends.

    Args:
        here: The socket's own end.
        there: The end that it is connected to.
        tables_dir: Folder of the kernel's tables `tcp` and `tcp6`.

    Returns:
        None if this host has no such socket, or its tables cannot be read.

    Source:
        proc(5), /proc/net/tcp: addresses as words in the machine's byte order, in hexadecimal.
    """
    for name, is_wide in (("tcp", False), ("tcp6", True)):
        # IPv6 is in tcp6 only; IPv4 may be in either, mapped if the socket takes both families.
        if here[0].version == 6 and not is_wide:
            continue
        ends = [_table_form(here, is_wide=is_wide), _table_form(there, is_wide=is_wide)]
        try:
            lines = (tables_dir / name).read_text(encoding="ascii").splitlines()[1:]
        # A kernel without IPv6 has no tcp6.
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[1:3] == ends:
                return int(fields[_UID_FIELD])
    return None


def _table_form(end: End, *, is_wide: bool) -> str:
    address, port = end
    packed = address.packed
    if is_wide and address.version == 4:
        # ::ffff:0:0/96, the form of IPv4 addresses in an IPv6 socket.
        packed = bytes(10) + b"\xff\xff" + packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"
