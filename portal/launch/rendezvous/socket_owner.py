"""Finds the user at the other end of a TCP connection within one host."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

TCP_TABLE = Path("/proc/net/tcp")


def socket_owner(
    here: tuple[str, int], there: tuple[str, int], table: Path = TCP_TABLE
) -> int | None:
    """Return the uid that owns the socket at `here`, connected to `there`; None if there is none.

    Both are IPv4 address and port. `table` lists the sockets of this network namespace.

    Source:
        proc(5), /proc/net/tcp: addresses in hexadecimal in the machine's byte order; field 8 is
        the effective uid of the socket's creator.
    """
    ends = [_table_form(*here), _table_form(*there)]
    for line in table.read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[1:3] == ends:
            return int(fields[7])
    return None


def _table_form(address: str, port: int) -> str:
    # The kernel prints the address as a number, in the machine's byte order.
    (number,) = struct.unpack("=I", socket.inet_aton(address))
    return f"{number:08X}:{port:04X}"
