"""The hub is told once an hour of each stranger in a session."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any, cast

from portal.server.base.forwarding import forwarded_addresses
from portal.server.base.hub_api import HubApi, HubError
from portal.server.sharing.visitors import AGAIN_AFTER_S, Visitors
from tests.support.clock import Clock


class ToldHub:
    """Keeps what it is told; may be away."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.is_away = False

    async def report_visit(self, visitor: str, address: str) -> None:
        if self.is_away:
            raise HubError("The hub did not answer.", http_status=503)
        self.told.append((visitor, address))


def visitors(hub: ToldHub, clock: Clock) -> Visitors:
    return Visitors("ada", cast("HubApi", hub), logging.getLogger("test"), clock)


def request_of(user: str | None, address: str = "203.0.113.9") -> tuple[Any, Any]:
    """Return an identity provider and a handler."""

    async def get_user(_: Any) -> Any:
        return user and SimpleNamespace(username=user)

    request = SimpleNamespace(headers={"X-Forwarded-For": address}, remote_ip="10.77.0.1")
    return SimpleNamespace(get_user=get_user), SimpleNamespace(request=request)


async def test_the_hub_hears_of_others_and_not_of_the_user() -> None:
    hub = ToldHub()
    for user in ("ada", None, "grace", "grace"):
        provider, handler = request_of(user)
        here = visitors(hub, Clock())
        here.watch(provider)
        await provider.get_user(handler)
        await provider.get_user(handler)
        await asyncio.sleep(0)

    assert hub.told == [("grace", "203.0.113.9")] * 2, "once in each session"


async def test_a_visit_is_told_again_after_an_hour_and_where_the_hub_was_away() -> None:
    hub, clock = ToldHub(), Clock()
    here = visitors(hub, clock)
    hub.is_away = True
    here.note("grace", "203.0.113.9")
    await asyncio.sleep(0)
    hub.is_away = False

    here.note("grace", "203.0.113.9")
    await asyncio.sleep(0)
    clock.now_s += AGAIN_AFTER_S
    here.note("grace", "203.0.113.9")
    await asyncio.sleep(0)

    assert len(hub.told) == 2


def test_an_address_is_plain_text_of_bounded_length() -> None:
    _, handler = request_of("grace", "203.0.113.9, 10.0.0.1\x1b[2J" + "x" * 5000)

    assert forwarded_addresses(handler.request).startswith("203.0.113.9, 10.0.0.1[2J")
    assert len(forwarded_addresses(handler.request)) == 200
