"""The way to the session: a WebSocket, by a package that the archive brings along."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from socket import SHUT_RDWR

import websocket

from .host import Host, LaptopError

_TIMEOUT_S = 30.0


def connect(host: Host, path: str, token: str) -> websocket.WebSocket:
    """Connect to the session; `path` is that of its WebSocket, without a slash in front."""
    way = websocket.WebSocket(
        sslopt={"context": host.tls} if host.tls else {},
        # ssh speaks and listens at the same time.
        enable_multithread=True,
    )
    try:
        way.connect(  # type: ignore[no-untyped-call]
            re.sub("^http", "ws", host.address(path)),
            timeout=_TIMEOUT_S,
            header=[f"Authorization: token {token}"],
            suppress_origin=True,
            redirect_limit=0,
        )
    except websocket.WebSocketBadStatusException as error:
        said = _message(error.resp_body)
        raise LaptopError(_refusal(host, error.status_code, error.resp_headers, said)) from error
    except websocket.WebSocketException as error:
        led = way.handshake_response
        if led is None:
            raise LaptopError(f"What answers at {host.url} is no session: {error}.") from error
        raise LaptopError(_refusal(host, led.status, led.headers, "")) from error
    # A connection on which nothing is said stays.
    way.settimeout(None)
    return way


def end(way: websocket.WebSocket) -> None:
    """End a connection, also for a thread that waits for the next message."""
    if way.sock is not None:
        with contextlib.suppress(OSError):
            way.sock.shutdown(SHUT_RDWR)


def _message(body: bytes | None) -> str:
    try:
        return str(json.loads(body or b"")["message"])
    except (ValueError, KeyError, TypeError):
        return ""


def _refusal(host: Host, status: int, headers: Mapping[str, str] | None, said: str) -> str:
    """Return why there is no connection."""
    # The way of a session that does not run leads to the hub's page about it.
    leads_to_hub = re.search(r"\bhub/user/", (headers or {}).get("location", ""))
    if status in {404, 424, 503} or leads_to_hub:
        name = f"session {host.session}" if host.session else "session"
        return (
            f"Your {name} does not run. Start it on {host.address('hub/home')}, then connect again."
        )
    if status in {302, 403}:
        return said or "The session refuses your token: make one that may use your sessions."
    return f"{host.url} answers {status} {said}".rstrip() + ". Try again in a minute."
