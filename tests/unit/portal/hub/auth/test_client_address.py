"""Where a login comes from."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from portal.hub.auth import client_address as module
from portal.hub.auth.client_address import client_address, parse_networks

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
