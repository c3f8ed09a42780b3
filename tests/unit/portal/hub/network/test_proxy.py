"""What the hub tells the proxy of a route."""

import asyncio
import copy
from datetime import datetime
from types import SimpleNamespace
from typing import Any
from unittest import mock

from jupyterhub.proxy import ConfigurableHTTPProxy

from portal.hub.network.proxy import SessionProxy

HTTPS, HTTP = "https://10.77.0.11:30000", "http://10.77.0.11:30000"


def session_proxy(**app: Any) -> SessionProxy:
    return SessionProxy(
        **{"app": SimpleNamespace(**app), "hub": SimpleNamespace(host="http://hub")},
        **{"should_start": False, "auth_token": "secret", "api_url": "http://127.0.0.1:1"},
    )


async def routes_of(
    certificate: str, target: str, *, lacks_certificate: bool = False
) -> list[dict[str, Any]]:
    """Return what the proxy is asked to add for a session with this certificate."""
    spawner = SimpleNamespace(
        certificate=certificate,
        lacks_certificate=lacks_certificate,
        proxy_spec="/user/ada/",
        server=SimpleNamespace(host=target),
        pending="spawn",
    )
    with mock.patch.object(SessionProxy, "api_request", autospec=True) as request:
        # Without a look for the user: of 10,000 sessions each would cost a query.
        await session_proxy().add_user(SimpleNamespace(name="ada", spawners={"": spawner}))
    return [dict(call.kwargs["body"]) for call in request.await_args_list]


async def test_the_route_to_a_session_carries_its_certificate() -> None:
    (route,) = await routes_of("PEM", HTTPS)

    assert route["certificate"] == "PEM"
    assert route["target"] == HTTPS


async def test_a_route_by_plain_http_carries_none() -> None:
    (route,) = await routes_of("", HTTP)

    assert "certificate" not in route


async def test_the_route_to_the_hub_carries_none() -> None:
    with mock.patch.object(SessionProxy, "api_request", autospec=True) as request:
        await session_proxy().add_route("/", "http://hub", {"hub": True})

    assert "certificate" not in request.await_args.kwargs["body"]


async def test_a_session_whose_certificate_was_lost_gets_no_route() -> None:
    assert await routes_of("", HTTPS) == []


async def test_what_a_start_left_behind_that_was_cut_off_gets_no_route() -> None:
    assert await routes_of("", HTTP, lacks_certificate=True) == []


MOMENT = "2026-11-20T12:00:00.000Z"


class Sessions:
    """A hub with sessions, and a proxy with routes to them; counts what the hub does."""

    def __init__(self, n_sessions: int) -> None:
        self.n_commits = 0
        self.users = {n: self._user(f"user{n}") for n in range(n_sessions)}
        self.proxy = session_proxy(
            hub=SimpleNamespace(routespec="/"),
            db=SimpleNamespace(commit=self._commit, rollback=self._commit),
        )
        # The proxy's start is not looked at here.
        self.proxy._watch = mock.Mock()
        self.routes: dict[str, Any] = {"/": {"target": "http://hub", "data": {"hub": True}}}
        for user in self.users.values():
            spec = f"/user/{user.name}/"
            data = {"user": user.name, "server_name": "", "last_activity": MOMENT}
            self.routes[spec] = {"target": "http://node:1", "data": data}
        self.asked: list[tuple[str, str]] = []

    @staticmethod
    def _user(name: str) -> Any:
        spawner = SimpleNamespace(
            **{"ready": True, "pending": None, "proxy_spec": f"/user/{name}/", "_log_name": name},
            server=SimpleNamespace(host="http://node:1"),
            orm_spawner=SimpleNamespace(last_activity=None),
        )
        row = SimpleNamespace(last_activity=None)
        return SimpleNamespace(
            name=name, proxy_spec=f"/user/{name}/", spawners={"": spawner}, orm_user=row
        )

    def _commit(self) -> None:
        self.n_commits += 1

    async def look(self) -> None:
        async def request(_: Any, path: str, method: str = "GET", **__: Any) -> Any:
            self.asked.append((method, path))

        with (
            mock.patch.object(ConfigurableHTTPProxy, "get_all_routes", self._all_routes),
            mock.patch.object(SessionProxy, "api_request", request),
        ):
            await self.proxy.check_routes(self.users, {})

    async def _all_routes(self, *_: Any) -> Any:
        return copy.deepcopy(self.routes)


async def test_the_hub_answers_others_while_it_checks_the_routes_of_many_sessions() -> None:
    hub, n_turns = Sessions(500), 0

    async def others() -> None:
        nonlocal n_turns
        while True:
            await asyncio.sleep(0)
            n_turns += 1

    task = asyncio.ensure_future(others())
    await hub.look()
    task.cancel()

    assert n_turns >= 8
    assert hub.asked == []


async def test_routes_are_added_put_right_and_removed() -> None:
    hub = Sessions(3)
    del hub.routes["/user/user0/"]
    hub.routes["/user/user1/"]["target"] = "http://other:1"
    hub.users[2].spawners[""].ready = False

    await hub.look()

    assert hub.asked == [
        ("POST", "/user/user0"),
        ("POST", "/user/user1"),
        ("DELETE", "/user/user2"),
    ]


async def test_the_route_of_a_session_that_is_about_to_start_or_stop_stays() -> None:
    hub = Sessions(1)
    hub.users[0].spawners[""].ready = False
    hub.users[0].spawners[""].pending = "stop"

    await hub.look()

    assert hub.asked == []


async def test_when_a_session_was_used_is_kept_and_never_goes_back() -> None:
    hub = Sessions(2)
    later = datetime(2026, 11, 20, 13)
    hub.users[1].orm_user.last_activity = later

    await hub.look()

    moment = datetime(2026, 11, 20, 12)
    assert hub.users[0].orm_user.last_activity == moment
    assert hub.users[0].spawners[""].orm_spawner.last_activity == moment
    assert hub.users[1].orm_user.last_activity == later
    assert hub.n_commits
