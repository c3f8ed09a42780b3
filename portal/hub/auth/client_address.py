"""Finds the client address of a request behind trusted proxies."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from tornado.httputil import HTTPServerRequest

from portal.socket_owner import Address, End, socket_owner

Network = IPv4Network | IPv6Network


def parse_networks(texts: Collection[str]) -> tuple[Network, ...]:
    """Return the networks of proxies whose X-Forwarded-For is believed.

    Args:
        texts: Addresses or networks, such as "192.0.2.10" or "192.0.2.0/28".

    Returns:
        An address becomes a network of one host.

    Raises:
        ValueError: If one is neither.
    """
    return tuple(ip_network(text) for text in texts)


def client_address(request: HTTPServerRequest, trusted: Collection[Network] = ()) -> str:
    """Return the address that a request comes from; a client cannot forge it.

    Returns:
        If the portal's proxy sent the request (a process of the hub's own account on this host, or
        one of JupyterHub's `trusted_downstream_ips`): the last address of X-Forwarded-For that is
        not in `trusted`, the front ends before that proxy. Else the peer's own address: nodes, and
        users of this host who connect to the hub's port directly, can write anything into that
        header.

    Source:
        configurable-http-proxy 5.3 appends the peer's address to X-Forwarded-For and passes
        X-Real-Ip, which Tornado prefers, on as the client sent it.
    """
    ends = _connection_ends(request)
    # A UNIX socket, for example, for which Tornado has no address either.
    if ends is None:
        return str(request.remote_ip)
    peer, own = ends
    client = peer[0]
    if not (_is_named_proxy(request, client) or _is_own(request, peer, own)):
        return str(client)
    # From the right: proxies append the address they see, so what a client invents is on the left.
    for text in reversed(request.headers.get("X-Forwarded-For", "").split(",")):
        hop = _parse(text.strip())
        if hop is None:
            break
        client = hop
        if not _is_in(client, trusted):
            break
    return str(client)


@dataclass(frozen=True, slots=True)
class ClientAddress:
    """`client_address` with the front ends that a site trusts."""

    trusted: tuple[Network, ...]

    def __call__(self, request: HTTPServerRequest) -> str:
        """Return the client address of a request."""
        return client_address(request, self.trusted)


def _connection_ends(request: HTTPServerRequest) -> tuple[End, End] | None:
    """Return the peer's end of a TCP connection and the hub's; None for any other kind."""
    connection: Any = getattr(request, "connection", None)
    stream = getattr(connection, "stream", None)
    context = getattr(connection, "context", None)
    if stream is None or context is None or not isinstance(context.address, tuple):
        return None
    peer, own = _end(context.address), _end(stream.socket.getsockname())
    return None if peer is None or own is None else (peer, own)


def _is_named_proxy(request: HTTPServerRequest, peer: Address) -> bool:
    connection: Any = request.connection
    return str(peer) in connection.context.trusted_downstream


def _is_own(request: HTTPServerRequest, peer: End, own: End) -> bool:
    # Cached: a connection keeps its owner, and with many of them the kernel's table is long.
    connection: Any = request.connection
    known = getattr(connection.context, "portal_is_own", None)
    if known is None:
        known = connection.context.portal_is_own = socket_owner(peer, own) == os.geteuid()
    return bool(known)


def _end(name: tuple[Any, ...]) -> End | None:
    address = _parse(str(name[0]))
    return None if address is None else (address, int(name[1]))


def _parse(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    # A socket for both families sees an IPv4 peer as a mapped address.
    return getattr(address, "ipv4_mapped", None) or address


def _is_in(address: Address, networks: Collection[Network]) -> bool:
    return any(address in network for network in networks)
