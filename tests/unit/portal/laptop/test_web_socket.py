"""The client's WebSocket against Tornado's, which is what a session has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import tornado.web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.websocket import WebSocketHandler

from portal.laptop.host import Host, SshProxyError
from portal.laptop.web_socket import Socket

TOKEN = "secret"


class Echo(WebSocketHandler):
    """Says back what it hears, after a ping."""

    async def get(self, *args: Any, **kwargs: Any) -> None:
        if self.request.headers.get("Authorization") != f"token {TOKEN}":
            self.set_status(403)
            self.finish({"message": "Make another token."})
            return
        await super().get(*args, **kwargs)

    async def on_message(self, message: str | bytes) -> None:
        self.ping(b"are you there?")
        if message == b"end":
            self.close()
        else:
            await self.write_message(message, binary=isinstance(message, bytes))

    def on_pong(self, data: bytes) -> None:
        assert data == b"are you there?"


class Away(tornado.web.RequestHandler):
    """What the proxy leads to if no session runs."""

    def get(self) -> None:
        self.redirect("/hub/user/ada/portal/ssh")


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    (listening,) = bind_sockets(0, "127.0.0.1")
    routes = [("/hub2/echo", Echo), ("/hub2/away", Away)]
    server = HTTPServer(tornado.web.Application(routes))
    server.add_socket(listening)
    yield Host("gpu-session", f"http://127.0.0.1:{listening.getsockname()[1]}/hub2")
    server.stop()
    await server.close_all_connections()


@pytest.mark.parametrize("n", [1, 125, 126, 65535, 65536, 300_000])
async def test_messages_of_every_length_pass(host: Host, n: int) -> None:
    socket = await Socket.open(host, "echo", TOKEN)
    data = bytes(range(256)) * (n // 256 + 1)

    await socket.send(data[:n])

    assert await asyncio.wait_for(socket.receive(), 30) == data[:n]
    await socket.send(b"end")
    assert await asyncio.wait_for(socket.receive(), 30) is None
    await socket.close()


async def test_a_refusal_is_told_as_the_session_says_it(host: Host) -> None:
    with pytest.raises(SshProxyError, match=r"^Make another token\.$"):
        await Socket.open(host, "echo", "wrong")


async def test_a_session_that_does_not_run_is_told_with_the_next_step(host: Host) -> None:
    with pytest.raises(SshProxyError, match=r"Your session does not run\. Start it on http"):
        await Socket.open(host, "away", TOKEN)
