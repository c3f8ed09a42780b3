"""Finds the client address of a request behind trusted proxies."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from tornado.httputil import HTTPServerRequest

from dsportal.start.connection_user import user_of

Address = IPv4Address | IPv6Address
End = tuple[Address, int]
Network = IPv4Network | IPv6Network
UNKNOWN = "unknown"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionEnds:
    """A TCP connection to the hub.

    Attributes:
        is_own: Whether a process of the hub's own account on this host is at the other end.
    """

    peer: End
    own: End
    is_own: bool


def note_ends(connection: Any) -> ConnectionEnds | None:
    """Return the ends of a Tornado connection, and keep them: once it is closed they are lost.

    Returns:
        None for any other kind, such as a UNIX socket, and if it was closed before the first call.
    """
    context = connection.context
    known: ConnectionEnds | None = getattr(context, "portal_ends", None)
    opened = getattr(connection.stream, "socket", None)
    if known is not None or opened is None or not isinstance(context.address, tuple):
        return known
    peer, own = _end(context.address), _end(opened.getsockname())
    if peer is None or own is None:
        return None
    # The kernel's table is long where there are many connections, so nodes are not looked for.
    is_here = peer[0] == own[0] or peer[0].is_loopback
    is_own = is_here and user_of(context.address, opened.getsockname()) == os.geteuid()
    context.portal_ends = known = ConnectionEnds(peer=peer, own=own, is_own=is_own)
    return known


def client_address(request: HTTPServerRequest, trusted: Collection[Network] = ()) -> str:
    """Return the address that a request comes from; a client cannot forge it.

    Returns:
        If the portal's proxy sent the request (a process of the hub's own account on this host, or
        one of JupyterHub's `trusted_downstream_ips`): the last address of X-Forwarded-For that is
        not in `trusted`, the front ends before that proxy. Else the peer's own address: nodes, and
        users of this host who connect to the hub's port directly, can write anything into that
        header. "unknown" where `note_ends` knows nothing of the connection.

    Source:
        configurable-http-proxy 5.3 appends the peer's address to X-Forwarded-For and passes
        X-Real-Ip, which Tornado prefers, on as the client sent it.
    """
    connection: Any = request.connection
    ends = note_ends(connection)
    if ends is None:
        return UNKNOWN
    client = ends.peer[0]
    if not (ends.is_own or str(client) in connection.context.trusted_downstream):
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
