"""The hub's server with real connections: what it refuses, drops and counts."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub import orm
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from portal.hub.network import http_server
from portal.hub.network.gate import GuardSettings
from portal.hub.network.http_server import GUARDED, MOST_BODY_BYTES, GuardedServer
from portal.hub.settings.traffic import TrafficSettings
from tests.support.hub_database import hub_database

AT_ONCE = 25
HALF = "POST /hub/login HTTP/1.1\r\nHost: hub\r\nContent-Length: 100\r\n{more}\r\nusername=ada"
PAGE = "GET /hub/login HTTP/1.1\r\nHost: hub\r\n{more}\r\n"
FORM = "POST /hub/login HTTP/1.1\r\nHost: hub\r\nContent-Length: 1\r\n\r\na"


class Login(RequestHandler):
    def get(self) -> None:
        self.write("form")

    def post(self) -> None:
        self.write(f"{len(self.request.body)} bytes")


class Waiting(RequestHandler):
    async def get(self) -> None:
        await self.settings["is_over"].wait()


class Connection:
    """A client of the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, text: str) -> str:
        """Send a request; return the head and the body of its answer, "" if the server hung up."""
        self.send(text)
        return await self.answer()

    def send(self, text: str) -> None:
        self._writer.write(text.encode())

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def answer(self) -> str:
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        except (asyncio.IncompleteReadError, ConnectionResetError):
            return ""
        n_bytes = int(head.partition("Content-Length: ")[2].partition("\r\n")[0])
        return head + (await self._reader.readexactly(n_bytes)).decode()


class Hub:
    """The server, and a token of its one user."""

    def __init__(self, port: int, token: str, is_over: asyncio.Event) -> None:
        self._port = port
        self._connections: list[Connection] = []
        self.token = token
        # Set to let what waits be answered.
        self.is_over = is_over

    async def connect(self) -> Connection:
        connection = Connection(*await asyncio.open_connection("127.0.0.1", self._port))
        self._connections.append(connection)
        return connection

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()

    async def ask(self, text: str) -> str:
        return await (await self.connect()).ask(text)


@asynccontextmanager
async def running_hub(**traffic: Any) -> AsyncIterator[Hub]:
    """Run the guarded server with these allowances, on a free port."""
    is_over = asyncio.Event()
    with hub_database("ada") as db:
        token = orm.User.find(db, "ada").new_api_token()
        application = Application(
            [("/hub/login", Login), ("/hub/(?:waiting|health)", Waiting)],
            hub=SimpleNamespace(base_url="/hub/", cookie_name="jupyterhub-hub-login"),
            log=logging.getLogger(__name__),
            db=db,
            cookie_secret=b"secret",
            cookie_max_age_days=1,
            is_over=is_over,
            **{GUARDED: GuardSettings(traffic=TrafficSettings(**traffic))},
        )
        sock, port = bind_unused_port()
        server = GuardedServer(application)
        server.add_socket(sock)
        hub = Hub(port, token, is_over)
        try:
            yield hub
        finally:
            is_over.set()
            server.stop()
            await hub.close()
            await server.close_all_connections()


@pytest.mark.parametrize("n_bytes", [MOST_BODY_BYTES, MOST_BODY_BYTES + 1])
async def test_a_body_of_a_mib_is_taken_and_a_byte_more_is_refused_unread(n_bytes: int) -> None:
    head = f"POST /hub/login HTTP/1.1\r\nHost: hub\r\nContent-Length: {n_bytes}\r\n\r\n"
    async with running_hub() as hub:
        connection = await hub.connect()
        connection.send(head)
        if n_bytes <= MOST_BODY_BYTES:
            connection.send("x" * n_bytes)
        answer = await connection.answer()

    is_taken = n_bytes <= MOST_BODY_BYTES
    assert (f"{n_bytes} bytes" in answer) is is_taken
    assert ("HTTP/1.1 413 " in answer) is not is_taken


async def test_a_body_in_pieces_is_refused_at_the_same_length() -> None:
    async with running_hub() as hub:
        connection = await hub.connect()
        connection.send(
            "POST /hub/login HTTP/1.1\r\nHost: hub\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(5):
            connection.send(f"{MOST_BODY_BYTES // 4:x}\r\n{'x' * (MOST_BODY_BYTES // 4)}\r\n")

        assert "HTTP/1.1 413 " in await connection.answer()


async def test_more_at_once_than_one_address_may_are_refused_until_some_end() -> None:
    async with running_hub(address_at_once=5) as hub:
        waiting = [await hub.connect() for _ in range(5)]
        for connection in waiting:
            connection.send("GET /hub/waiting HTTP/1.1\r\nHost: hub\r\n\r\n")
        refused = await answered(hub, PAGE.format(more=""), "429")
        of_a_user = await hub.ask(PAGE.format(more=f"Authorization: token {hub.token}\r\n"))
        hub.is_over.set()
        admitted = await answered(hub, PAGE.format(more=""), "200")

    assert "Retry-After: 1" in refused
    assert "Your address sent more requests" in refused
    assert "HTTP/1.1 200 " in of_a_user
    assert "form" in admitted


async def test_more_than_one_address_may_send_are_refused_and_files_count_an_eighth() -> None:
    async with running_hub(address_burst=10, address_requests_per_s=0.1) as hub:
        connection = await hub.connect()
        files = [
            await connection.ask("GET /hub/static/a.js HTTP/1.1\r\nHost: hub\r\n\r\n")
            for _ in range(8)
        ]
        pages = [await connection.ask(PAGE.format(more="")) for _ in range(10)]

    assert all("HTTP/1.1 404 " in answer for answer in files)
    assert all("HTTP/1.1 200 " in answer for answer in pages[:9])
    assert "HTTP/1.1 429 " in pages[9]


async def test_a_host_holds_so_many_connections_and_the_proxys_host_any_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running_hub(address_at_once=5) as hub:
        of_the_proxy = [await (await hub.connect()).ask(PAGE.format(more="")) for _ in range(10)]
        # A test has no other host.
        monkeypatch.setattr(http_server, "_bounded_peer", lambda *_: "192.0.2.7")
        idle = [await hub.connect() for _ in range(5)]
        answers = [await connection.ask(PAGE.format(more="")) for connection in idle]
        one_more = await hub.ask(PAGE.format(more=""))
        await idle[0].close()
        async with asyncio.timeout(20):
            # The hub has not noticed at once that one is gone.
            while not (after := await hub.ask(PAGE.format(more=""))):
                pass

    assert all("form" in answer for answer in [*of_the_proxy, *answers])
    assert one_more == ""
    assert "form" in after


async def test_half_bodies_keep_nobody_of_their_address_from_the_login() -> None:
    async with running_hub(address_at_once=AT_ONCE) as hub:
        half = [await hub.connect() for _ in range(2 * AT_ONCE)]
        for connection in half:
            connection.send(HALF.format(more=""))
        # The one that has waited longest gives way, long before its time is up.
        async with asyncio.timeout(8):
            first = await half[0].answer()
        page, form = await hub.ask(PAGE.format(more="")), await hub.ask(FORM)

    assert first == ""
    assert "form" in page
    assert "1 bytes" in form


async def test_a_form_whose_rest_comes_later_is_taken() -> None:
    async with running_hub() as hub:
        connection = await hub.connect()
        connection.send(HALF.format(more=""))
        # Answered behind the half one, so that was read.
        await hub.ask(FORM)

        assert "100 bytes" in await connection.ask("x" * 88)


async def test_a_stranger_has_less_time_for_a_body_than_a_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_server, "STRANGER_BODY_TIMEOUT_S", 0.01)
    async with running_hub() as hub:
        of_a_user = await hub.connect()
        of_a_user.send(HALF.format(more=f"Authorization: token {hub.token}\r\n"))
        of_a_stranger = await hub.ask(HALF.format(more=""))

        assert of_a_stranger == ""
        assert "100 bytes" in await of_a_user.ask("x" * 88)


async def answered(hub: Hub, text: str, status: str) -> str:
    """Ask until the hub has noticed what was sent, or ended, on other connections."""
    connection = await hub.connect()
    async with asyncio.timeout(20):
        while True:
            answer = await connection.ask(text)
            if f"HTTP/1.1 {status} " in answer:
                return answer
