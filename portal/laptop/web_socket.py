"""The client's end of a WebSocket, as far as ssh needs it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import re
from urllib.parse import urlsplit

from .host import Host, SshProxyError

TEXT, BINARY = 1, 2
# RFC 6455, 1.3 and 5.2.
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CLOSE, _PING, _PONG = 8, 9, 10
_MOST_FRAME_BYTES = 16 * 1024 * 1024


class Socket:
    """A connection to the session.

    Source:
        RFC 6455, 4.1 and 5.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, host: Host, path: str, token: str) -> Socket:
        """Connect.

        Args:
            host: The session.
            path: That of the session's WebSocket, without a slash in front.
            token: The user's.
        """
        url = urlsplit(host.address(path))
        port = url.port or (443 if host.tls else 80)
        reader, writer = await asyncio.open_connection(url.hostname, port, ssl=host.tls)
        socket = cls(reader, writer)
        key = base64.b64encode(os.urandom(16))
        lines = (
            f"GET {url.path} HTTP/1.1",
            f"Host: {url.netloc}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key.decode()}",
            f"Authorization: token {token}",
        )
        writer.write("".join(f"{line}\r\n" for line in (*lines, "")).encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        accept = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())
        if not head.startswith("HTTP/1.1 101 ") or accept.decode() not in head:
            refusal = await _refusal(host, head, reader)
            await socket.close()
            raise SshProxyError(refusal)
        return socket

    async def close(self) -> None:
        """End the connection."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def send(self, data: bytes, opcode: int = BINARY) -> None:
        """Send one message; its kind, `opcode`, is `BINARY` or `TEXT`."""
        n = len(data)
        if n < 126:
            length = bytes([128 | n])
        elif n < 65536:
            length = bytes([254]) + n.to_bytes(2, "big")
        else:
            length = bytes([255]) + n.to_bytes(8, "big")
        mask = os.urandom(4)
        key = int.from_bytes((mask * (n // 4 + 1))[:n], "big")
        masked = (int.from_bytes(data, "big") ^ key).to_bytes(n, "big")
        self._writer.write(bytes([128 | opcode]) + length + mask + masked)
        await self._writer.drain()

    async def receive(self) -> bytes | None:
        """Return the next message, or None after the last one."""
        try:
            while True:
                opcode, data = await self._frame()
                if opcode == _CLOSE:
                    return None
                if opcode == _PING:
                    await self.send(data, _PONG)
                elif opcode != _PONG:
                    # Pieces of a message need not be put together: ssh reads a stream.
                    return data
        except (asyncio.IncompleteReadError, OSError):
            return None

    async def _frame(self) -> tuple[int, bytes]:
        first, second = await self._reader.readexactly(2)
        n = second & 127
        if n > 125:
            n = int.from_bytes(await self._reader.readexactly(2 if n == 126 else 8), "big")
        if n > _MOST_FRAME_BYTES or second & 128:
            raise SshProxyError("What answers is no session: its messages are no WebSocket's.")
        return first & 15, await self._reader.readexactly(n)


async def _refusal(host: Host, head: str, reader: asyncio.StreamReader) -> str:
    """Return why there is no connection, from the head of the answer and what follows it."""
    status = head.split(" ", 2)[1] if head.count(" ") > 1 else "nothing"
    found = re.search(r"\ncontent-length: *(\d+)", head, re.IGNORECASE)
    try:
        body = await reader.readexactly(min(int(found[1]), 65536)) if found else b""
        said = str(json.loads(body)["message"])
    except (asyncio.IncompleteReadError, OSError, ValueError, KeyError, TypeError):
        said = ""
    # The way of a session that does not run leads to the hub's page about it.
    if status in {"404", "424", "503"} or re.search(r"\nlocation: *\S*\bhub/user/", head, re.I):
        name = f"session {host.session}" if host.session else "session"
        return (
            f"Your {name} does not run. Start it on {host.address('hub/home')}, then connect again."
        )
    if status in {"302", "403"}:
        return said or "The session refuses your token: make one that may use your sessions."
    return f"{host.url} answers {status} {said}".rstrip() + ". Try again in a minute."
