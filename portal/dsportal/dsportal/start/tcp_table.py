"""The kernel's table of the TCP sockets of this host."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import NamedTuple

FOLDER = Path("/proc/net")
LISTENS, WINDS_DOWN = "0A", "06"


class TcpSocket(NamedTuple):
    """A line of the table.

    Attributes:
        here: The socket's own end, as the table has it: an address in hexadecimal and a port.
        there: The end that it is connected to.
        state: LISTENS, WINDS_DOWN or another one of include/net/tcp_states.h.
        uid: Of its creator; 0 for a connection that no program holds, or not yet.
        inode: As in /proc/PID/fd; 0 likewise.

    Source:
        proc(5), /proc/net/tcp: addresses as words in the machine's byte order.
    """

    here: str
    there: str
    state: str
    uid: int
    inode: int

    @property
    def port(self) -> int:
        """The port of its own end."""
        return int(self.here.rpartition(":")[2], 16)

    @property
    def address(self) -> IPv4Address | IPv6Address:
        """The address of its own end; that of IPv4 also for a socket that takes both families."""
        text = self.here.rpartition(":")[0]
        words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
        packed = struct.pack(f"={len(words)}I", *words)
        if len(packed) == 4:
            return IPv4Address(packed)
        wide = IPv6Address(packed)
        return wide.ipv4_mapped or wide


def read_tcp_table(folder: Path = FOLDER) -> Iterator[TcpSocket]:
    """Yield the sockets of both families, from the tables `tcp` and `tcp6` of a folder."""
    for name in ("tcp", "tcp6"):
        # A kernel without IPv6 has no tcp6.
        with contextlib.suppress(OSError):
            yield from parse_tcp_table((folder / name).read_text(encoding="ascii"))


def parse_tcp_table(text: str) -> Iterator[TcpSocket]:
    """Yield the sockets of one table, whose first line is a header."""
    for fields in map(str.split, text.splitlines()[1:]):
        yield TcpSocket(fields[1], fields[2], fields[3], int(fields[7]), int(fields[9]))
