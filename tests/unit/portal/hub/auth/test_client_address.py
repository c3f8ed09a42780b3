"""Where a login comes from."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from portal.hub.auth import client_address as module
from portal.hub.auth.client_address import client_address, parse_networks, socket_owner

HUB = "10.77.0.1"
NODE = "10.77.0.11"
BROWSER = "203.0.113.7"
FORGED = "198.51.100.1"
FRONT_ENDS = parse_networks(["127.0.0.1", "192.0.2.0/28"])


@pytest.fixture
def is_of_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every connection be one of the hub's own account."""
    monkeypatch.setattr(module, "socket_owner", lambda here, there: os.geteuid())


def request_from(
    peer: str, forwarded: str = "", *, named: frozenset[str] = frozenset(), own: str = HUB
) -> Any:
    connection: Any = SimpleNamespace(
        context=SimpleNamespace(
            address=(peer, 50000), trusted_downstream=named, remote_ip=peer, protocol="http"
        ),
        stream=SimpleNamespace(socket=SimpleNamespace(getsockname=lambda: (own, 8081))),
    )
    headers = HTTPHeaders({"Host": "portal.example", "X-Real-Ip": FORGED})
    if forwarded:
        headers["X-Forwarded-For"] = forwarded
    return HTTPServerRequest(
        headers=headers,
        connection=connection,
        start_line=RequestStartLine("POST", "/hub/login", "HTTP/1.1"),
    )


@pytest.mark.usefixtures("is_of_the_proxy")
@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        (BROWSER, BROWSER),
        (f"{FORGED}, {BROWSER}", BROWSER),
        (f"{FORGED},{BROWSER}, 127.0.0.1", BROWSER),
        (f"{FORGED}, {BROWSER}, 192.0.2.3, 192.0.2.14, 127.0.0.1", BROWSER),
        (f"{FORGED}, ::ffff:{BROWSER}, ::ffff:127.0.0.1", BROWSER),
        ("2001:db8::7, 127.0.0.1", "2001:db8::7"),
        ("127.0.0.1", "127.0.0.1"),
        (f"{FORGED}, nonsense, 127.0.0.1", "127.0.0.1"),
        (f"{FORGED}, , 127.0.0.1", "127.0.0.1"),
        ("", HUB),
    ],
)
def test_the_last_that_is_no_front_end_counts_through_any_number_of_them(
    forwarded: str, client: str
) -> None:
    assert client_address(request_from(HUB, forwarded), FRONT_ENDS) == client


@pytest.mark.usefixtures("is_of_the_proxy")
@pytest.mark.parametrize("last", ["127.0.0.1", "::1", "192.0.2.3", HUB])
def test_no_front_end_is_believed_that_the_site_has_not_named(last: str) -> None:
    assert client_address(request_from(HUB, f"{FORGED}, {last}")) == last


@pytest.mark.parametrize("peer", [NODE, HUB, "127.0.0.1", "192.0.2.3"])
def test_who_talks_to_the_hub_itself_cannot_choose_an_address(peer: str) -> None:
    assert client_address(request_from(peer, FORGED), FRONT_ENDS) == peer


def test_a_proxy_elsewhere_counts_where_jupyterhub_is_told_of_it() -> None:
    request = request_from("192.0.2.99", BROWSER, named=frozenset({"192.0.2.99"}))

    assert client_address(request) == BROWSER


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


def test_a_connection_of_another_account_is_not_the_proxys(tmp_path: Path) -> None:
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    line = " 0: 0100007F:C350 01004D0A:1F91 01 00000000:00000000 00:00000000 00000000  1234 0 9\n"
    wide = line.replace("0100007F:", "0000000000000000FFFF00000100007F:").replace(
        "01004D0A:", "0000000000000000FFFF000001004D0A:"
    )
    ends = (ip_address("127.0.0.1"), 50000), (ip_address(HUB), 8081)

    (tmp_path / "tcp").write_text(head + line)
    assert socket_owner(*ends, tables_dir=tmp_path) == 1234
    (tmp_path / "tcp").write_text(head)
    (tmp_path / "tcp6").write_text(head + wide)
    assert socket_owner(*ends, tables_dir=tmp_path) == 1234
    (tmp_path / "tcp").unlink()
    (tmp_path / "tcp6").unlink()
    assert socket_owner(*ends, tables_dir=tmp_path) is None
