"""What the kernel says of the sockets of this host."""

import os
import socket
from ipaddress import ip_address
from pathlib import Path

import pytest

from dsportal.start.tcp_table import LISTENS, parse_tcp_table, read_tcp_table

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid"
LINE = (
    "   0: {here} 00000000:0000 0A 00000000:00000000 00:00000000 00000000   998"
    "        0 7 1 0000000000000000 100 0 0 10 0"
)


@pytest.mark.parametrize(
    ("here", "address", "port"),
    [
        ("00000000:1AA3", "0.0.0.0", 6819),
        ("0100007F:1F41", "127.0.0.1", 8001),
        (f"{0:032X}:1F40", "::", 8000),
        (f"{0:016X}FFFF00000100007F:1F40", "127.0.0.1", 8000),
        (f"{0:024X}01000000:1F41", "::1", 8001),
    ],
)
def test_an_address_of_either_family_is_read(here: str, address: str, port: int) -> None:
    (found,) = parse_tcp_table("\n".join([HEADER, LINE.format(here=here)]))

    assert (found.address, found.port) == (ip_address(address), port)
    assert (found.state, found.uid, found.inode) == (LISTENS, 998, 7)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_kernels_own_tables_are_read(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listening:
        port = listening.getsockname()[1]
        (found,) = [one for one in read_tcp_table() if one.port == port and one.state == LISTENS]

    assert (found.uid, str(found.address)) == (os.geteuid(), address)


def test_a_host_without_tables_has_no_sockets(tmp_path: Path) -> None:
    assert list(read_tcp_table(tmp_path)) == []
