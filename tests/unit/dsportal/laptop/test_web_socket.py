"""Why ssh does not get to a session, in words."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import tornado.web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from dsportal.laptop.host import Host, LaptopError
from dsportal.laptop.web_socket import connect


class Session(tornado.web.RequestHandler):
    """Refuses every token."""

    def get(self) -> None:
        self.set_status(403)
        self.finish({"message": "Make another token."})


class Away(tornado.web.RequestHandler):
    """What the proxy leads to if no session runs."""

    def get(self) -> None:
        self.redirect("/hub/user/ada/portal/ssh")


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    (listening,) = bind_sockets(0, "127.0.0.1")
    routes = [("/hub2/session", Session), ("/hub2/away", Away)]
    server = HTTPServer(tornado.web.Application(routes))
    server.add_socket(listening)
    yield Host("gpu-session", f"http://127.0.0.1:{listening.getsockname()[1]}/hub2")
    server.stop()
    await server.close_all_connections()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("session", r"^Make another token\.$"),
        ("away", r"Your session does not run\. Start it on http"),
        ("nothing", r"Your session does not run\."),
    ],
)
async def test_a_refusal_is_told_as_the_session_says_it_or_with_the_next_step(
    host: Host, path: str, said: str
) -> None:
    with pytest.raises(LaptopError, match=said):
        await asyncio.to_thread(connect, host, path, "wrong")
