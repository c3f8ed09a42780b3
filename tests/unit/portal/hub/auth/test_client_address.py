"""Where a login comes from."""

import os
import socket
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine
from tornado.iostream import IOStream
from tornado.testing import bind_unused_port

from portal.hub.auth import client_address as module
from portal.hub.auth.client_address import (
    ConnectionEnds,
    client_address,
    note_ends,
    parse_networks,
)

HUB = "10.77.0.1"
NODE = "10.77.0.11"
BROWSER = "203.0.113.7"
FORGED = "198.51.100.1"
FRONT_ENDS = parse_networks(["127.0.0.1", "192.0.2.0/28"])


def request_from(
    peer: str, forwarded: str = "", *, named: frozenset[str] = frozenset(), is_own: bool = False
) -> Any:
    ends = ConnectionEnds(
        peer=(ip_address(peer), 50000), own=(ip_address(HUB), 8081), is_own=is_own
    )
    connection: Any = SimpleNamespace(
        context=SimpleNamespace(
            portal_ends=ends, trusted_downstream=named, remote_ip=FORGED, protocol="http"
        ),
        stream=None,
    )
    headers = HTTPHeaders({"Host": "portal.example", "X-Real-Ip": FORGED})
    if forwarded:
        headers["X-Forwarded-For"] = forwarded
    return HTTPServerRequest(
        headers=headers,
        connection=connection,
        start_line=RequestStartLine("POST", "/hub/login", "HTTP/1.1"),
    )


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
    assert client_address(request_from(HUB, forwarded, is_own=True), FRONT_ENDS) == client


@pytest.mark.parametrize("last", ["127.0.0.1", "::1", "192.0.2.3", HUB])
def test_no_front_end_is_believed_that_the_site_has_not_named(last: str) -> None:
    assert client_address(request_from(HUB, f"{FORGED}, {last}", is_own=True)) == last


@pytest.mark.parametrize("peer", [NODE, HUB, "127.0.0.1", "192.0.2.3"])
def test_who_talks_to_the_hub_itself_cannot_choose_an_address(peer: str) -> None:
    assert client_address(request_from(peer, FORGED), FRONT_ENDS) == peer


def test_a_proxy_elsewhere_counts_where_jupyterhub_is_told_of_it() -> None:
    request = request_from("192.0.2.99", BROWSER, named=frozenset({"192.0.2.99"}))

    assert client_address(request) == BROWSER


async def connection_to_itself() -> Any:
    """Return Tornado's side of a connection that this process has made to itself, still open."""
    listening, port = bind_unused_port()
    client = IOStream(socket.socket())
    await client.connect(("127.0.0.1", port))
    accepted, address = listening.accept()
    listening.close()
    stream = IOStream(accepted)
    context = SimpleNamespace(address=address, trusted_downstream=(), remote_ip=FORGED)
    return SimpleNamespace(stream=stream, context=context, client=client)


async def test_the_ends_of_a_connection_are_known_after_it_was_closed() -> None:
    connection = await connection_to_itself()
    while_open = note_ends(connection)
    connection.stream.close()
    connection.client.close()

    assert while_open is not None
    assert while_open.is_own
    assert note_ends(connection) == while_open


async def test_nothing_is_believed_of_a_connection_whose_ends_nobody_noted() -> None:
    connection = await connection_to_itself()
    connection.stream.close()
    connection.client.close()

    request = request_from(HUB, BROWSER, is_own=True)
    request.connection = connection
    assert client_address(request) == "unknown"


async def test_a_connection_from_another_host_is_not_looked_for_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "user_of", lambda there, here: os.geteuid())
    connection = await connection_to_itself()
    connection.context.address = (NODE, 50000)
    ends = note_ends(connection)
    connection.stream.close()
    connection.client.close()

    assert ends is not None
    assert not ends.is_own
