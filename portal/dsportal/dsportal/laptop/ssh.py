"""ssh through the portal's login: the connection that ssh asks for, and OpenSSH's own programs."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable
from urllib.parse import quote

from websocket import WebSocket, WebSocketException

from .host import LaptopError, home_of, write_private
from .rest import Portal, UnreachableError
from .web_socket import connect, end

_CHUNK_BYTES = 64 * 1024


def run_proxy(portal: Portal) -> None:
    """Carry the bytes between the ssh that has started this program and the session."""
    try:
        carry(portal, lambda: os.read(0, _CHUNK_BYTES), _write_all)
    except FileNotFoundError as error:
        raise LaptopError(f"{error.filename} is missing. Run: dsportal setup") from error
    except (OSError, ValueError, WebSocketException) as error:
        raise UnreachableError(f"The portal cannot be reached: {error}") from error


def carry(portal: Portal, read: Callable[[], bytes], write: Callable[[bytes], object]) -> None:
    """Carry the bytes of one connection between ssh and the session, until one of them ends.

    `read` returns ssh's next bytes, and `write` takes what ssh is to get; both may block.
    """
    host = portal.host
    home = home_of(host.name)
    parts = (quote(part, safe="") for part in (portal.me()["name"], host.session) if part)
    way = connect(host, f"user/{'/'.join(parts)}/portal/ssh", portal.token)
    try:
        key = (home / "key.pub").read_text(encoding="ascii").strip()
        way.send(json.dumps({"public_key": key}))
        said = json.loads(way.recv() or '{"message": "The session closed at once."}')
        if "message" in said:
            raise LaptopError(said["message"])
        # ssh reads it only when it has heard of sshd, which comes after this.
        write_private(home / "known_hosts", f"{host.name} {said['host_key']}\n")
        # A daemon: nothing interrupts its reading.
        threading.Thread(target=_feed, args=(way, read), daemon=True).start()
        with contextlib.suppress(OSError, WebSocketException):
            while isinstance(data := way.recv(), bytes):
                write(data)
    finally:
        end(way)


def _feed(way: WebSocket, read: Callable[[], bytes]) -> None:
    try:
        with contextlib.suppress(OSError, WebSocketException):
            while data := read():
                way.send_binary(data)
    finally:
        # Wakes the other thread.
        end(way)


def _write_all(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]
