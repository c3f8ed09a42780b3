"""Where a login comes from."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from portal.hub.credentials import client_address

HUB = "10.77.0.1"
NODE = "10.77.0.11"
BROWSER = "203.0.113.7"


def request_from(peer: str, forwarded: str = "", trusted: frozenset[str] = frozenset()) -> Any:
    connection: Any = SimpleNamespace(
        context=SimpleNamespace(
            address=(peer, 50000), trusted_downstream=trusted, remote_ip=peer, protocol="http"
        ),
        stream=SimpleNamespace(socket=SimpleNamespace(getsockname=lambda: (HUB, 8081))),
    )
    headers = HTTPHeaders({"Host": "portal.example"})
    if forwarded:
        headers["X-Forwarded-For"] = forwarded
    return HTTPServerRequest(
        headers=headers,
        connection=connection,
        start_line=RequestStartLine("POST", "/hub/login", "HTTP/1.1"),
    )


@pytest.mark.parametrize("proxy", [HUB, "127.0.0.1", "::1"])
def test_what_a_proxy_on_the_hubs_host_saw_counts(proxy: str) -> None:
    assert client_address(request_from(proxy, f"198.51.100.1, {BROWSER}")) == BROWSER


def test_a_node_that_talks_to_the_hub_itself_cannot_choose_its_address() -> None:
    assert client_address(request_from(NODE, BROWSER)) == NODE


def test_a_proxy_elsewhere_counts_where_the_site_names_it() -> None:
    request = request_from("192.0.2.10", BROWSER, trusted=frozenset({"192.0.2.10"}))

    assert client_address(request) == BROWSER


def test_a_login_without_a_proxy_comes_from_its_peer() -> None:
    assert client_address(request_from("127.0.0.1")) == "127.0.0.1"
