from __future__ import annotations

import os
import socket
from ipaddress import ip_address
from pathlib import Path

from dsportal.socket_owner import socket_owner


def test_the_kernel_says_whose_connection_it_is() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        here, there = (
            (ip_address(host), port) for host, port in (client.getsockname(), server.getsockname())
        )
        assert socket_owner(here, there) == os.geteuid()
        assert socket_owner((here[0], 1), there) is None


def test_the_owner_is_read_from_the_kernels_tables(tmp_path: Path) -> None:
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    line = " 0: 0100007F:C350 01004D0A:1F91 01 00000000:00000000 00:00000000 00000000  1234 0 9\n"
    wide = line.replace("0100007F:", "0000000000000000FFFF00000100007F:").replace(
        "01004D0A:", "0000000000000000FFFF000001004D0A:"
    )
    ends = (ip_address("127.0.0.1"), 50000), (ip_address("10.77.0.1"), 8081)

    (tmp_path / "tcp").write_text(head + line)
    assert socket_owner(*ends, tables_dir=tmp_path) == 1234
    (tmp_path / "tcp").write_text(head)
    (tmp_path / "tcp6").write_text(head + wide)
    assert socket_owner(*ends, tables_dir=tmp_path) == 1234
    (tmp_path / "tcp").unlink()
    (tmp_path / "tcp6").unlink()
    assert socket_owner(*ends, tables_dir=tmp_path) is None
