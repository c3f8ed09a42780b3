"""What counts as going to somebody else's session."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub import orm
from jupyterhub.handlers import BaseHandler
from jupyterhub.user import User
from tornado.testing import bind_unused_port
from tornado.web import Application

from portal.hub.admin.visits import log_visits, read_visit
from portal.hub.network.gate import GuardSettings
from portal.hub.network.http_server import GUARDED, GuardedServer
from portal.hub.settings.traffic import TrafficSettings
from tests.support.hub_database import hub_database

BROWSER = "203.0.113.7"


def answered(method: str, path: str, *, user: str = "grace", status: int = 204) -> Any:
    visitor = object.__new__(User)
    visitor.__dict__["orm_user"] = SimpleNamespace(name=user)
    return SimpleNamespace(
        _jupyterhub_user=visitor,
        get_status=lambda: status,
        request=SimpleNamespace(method=method, path=path),
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/hub/api/users/ada/tokens"),
        ("DELETE", "/hub/api/users/ada/server"),
        ("POST", "/hub/api/users/ada/servers/second"),
        ("POST", "/hub/api/dsportal/users/ada/extend"),
        ("POST", "/hub/spawn/ada"),
        ("POST", "/hub/cluster/stop/ada"),
        ("DELETE", "/base/hub/api/users/ada"),
    ],
)
def test_what_is_done_to_somebody_else_is_a_visit(method: str, path: str) -> None:
    visit = read_visit(answered(method, path))

    assert visit is not None
    assert (visit.visitor, visit.host) == ("grace", "ada")
    assert path in visit.what


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(answered("GET", "/hub/api/users/ada"), id="only looked"),
        pytest.param(answered("DELETE", "/hub/api/users/grace/server"), id="one's own"),
        pytest.param(answered("POST", "/hub/api/users/ada/tokens", status=403), id="refused"),
        pytest.param(answered("POST", "/hub/login"), id="nobody's"),
    ],
)
def test_everything_else_is_none(handler: Any) -> None:
    assert read_visit(handler) is None


def test_who_is_nobody_visits_nobody() -> None:
    nobody = answered("POST", "/hub/api/users/ada/tokens")
    nobody._jupyterhub_user = None

    assert read_visit(nobody) is None


class UserHandler(BaseHandler):
    """Stands for each route that changes something of a user; grace asks."""

    async def prepare(self) -> None:
        self._jupyterhub_user = self.settings["visitor"]

    def delete(self) -> None:
        self.set_status(204)


@pytest.fixture
def visitor() -> Iterator[Any]:
    with hub_database("grace") as db:
        user = object.__new__(User)
        user.__dict__.update(orm_user=SimpleNamespace(name="grace"), db=db)
        yield user


@pytest.fixture
async def port(visitor: Any) -> AsyncIterator[int]:
    """Run the hub's server with its audit log; the test itself is the portal's proxy."""
    application = Application(
        [("/hub/api/users/.*", UserHandler)],
        log_function=log_visits,
        log=logging.getLogger(__name__),
        hub=SimpleNamespace(base_url="/hub/", cookie_name="jupyterhub-hub-login"),
        db=visitor.db,
        visitor=visitor,
        authenticator=SimpleNamespace(trusted_proxies=[]),
        cookie_secret=b"secret",
        cookie_max_age_days=1,
        **{GUARDED: GuardSettings(traffic=TrafficSettings())},
    )
    sock, port = bind_unused_port()
    server = GuardedServer(application)
    server.add_socket(sock)
    yield port
    server.stop()
    await server.close_all_connections()


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
async def test_a_visit_is_logged_with_its_address_also_if_its_connection_is_closed(
    port: int, visitor: Any, caplog: pytest.LogCaptureFixture, connection: str
) -> None:
    # Whoever has a token is known without the address, which nobody has asked for until the log.
    token = orm.User.find(visitor.db, "grace").new_api_token()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        "DELETE /hub/api/users/ada/server HTTP/1.1\r\nHost: hub\r\n"
        f"Authorization: token {token}\r\nConnection: {connection}\r\n"
        f"X-Forwarded-For: {BROWSER}\r\n\r\n".encode()
    )
    answer = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()

    assert b"204 No Content" in answer
    assert [record.getMessage() for record in caplog.records if record.name == __name__] == [
        f"grace asked for DELETE /hub/api/users/ada/server, which belongs to ada, from {BROWSER}"
    ]
