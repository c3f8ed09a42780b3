"""Guests of a session leave when the hub no longer allows them; with JupyterHub's own cache."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.services.auth import HubOAuth
from tornado.web import HTTPError
from tornado.websocket import WebSocketHandler

from portal.server.session.guests import Guests

ACCESS = "access:servers!server=ada/"


class Socket(WebSocketHandler):
    """A websocket that is open."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.closed_because = ""

    def close(self, code: int | None = None, reason: str | None = None) -> None:
        self.closed_because = reason or ""


class HubAuth(HubOAuth):
    """JupyterHub's, whose hub says what a test says."""

    scopes: dict[str, list[str]]
    is_away = False

    def get_token(self, handler: Any, in_cookie: bool = True) -> str:
        return str(handler.token)

    async def user_for_token(
        self, token: str, use_cache: bool = True, session_id: str = "", *, sync: bool = True
    ) -> Any:
        if self.is_away:
            raise HTTPError(503)
        assert not use_cache
        return {"name": token, "scopes": self.scopes.get(token, [])}


@pytest.fixture
def hub_auth() -> HubAuth:
    auth = HubAuth(
        api_url="http://127.0.0.1:1/hub/api",
        api_token="secret",
        oauth_client_id="jupyterhub-user-ada",
        base_url="/user/ada/",
        access_scopes={ACCESS},
    )
    auth.scopes = {"grace": [ACCESS], "ada": [ACCESS]}
    return auth


async def enter(hub_auth: HubAuth, *names: str) -> tuple[Guests, list[Socket]]:
    async def get_user(handler: Socket) -> Any:
        return SimpleNamespace(username=handler.token)

    provider = SimpleNamespace(hub_auth=hub_auth, get_user=get_user)
    guests = Guests("ada", logging.getLogger("test"))
    guests.watch(provider)
    sockets = [Socket(name) for name in names]
    for socket in sockets:
        await provider.get_user(socket)
    return guests, sockets


async def test_a_guest_stays_while_the_session_is_shared(hub_auth: HubAuth) -> None:
    guests, (socket,) = await enter(hub_auth, "grace")
    await guests.check()
    assert not socket.closed_because


async def test_a_guest_leaves_once_it_is_no_longer_shared(hub_auth: HubAuth) -> None:
    guests, sockets = await enter(hub_auth, "grace", "ada")
    hub_auth.scopes = {}
    await guests.check()
    # The owner is not asked for.
    assert [socket.closed_because for socket in sockets] == [
        "The owner no longer shares this session.",
        "",
    ]


async def test_a_guest_stays_while_the_hub_does_not_answer(hub_auth: HubAuth) -> None:
    guests, (socket,) = await enter(hub_auth, "grace")
    hub_auth.is_away = True
    await guests.check()
    assert not socket.closed_because


async def test_what_the_hub_said_of_guests_is_forgotten_and_of_the_owner_kept(
    hub_auth: HubAuth,
) -> None:
    guests, _ = await enter(hub_auth)
    hub_auth.cache["token:of-grace"] = {"name": "grace", "scopes": [ACCESS]}
    hub_auth.cache["token:of-nobody"] = None
    hub_auth.cache["token:of-ada"] = {"name": "ada", "scopes": [ACCESS]}
    await guests.check()
    assert list(hub_auth.cache.values) == ["token:of-ada"]


async def test_somebody_who_is_not_let_in_reads_why(hub_auth: HubAuth) -> None:
    async def get_user(handler: Any) -> None:
        # As JupyterHub does for whoever has logged in and may not be here.
        handler.redirect = lambda *_: None

    provider = SimpleNamespace(hub_auth=hub_auth, get_user=get_user)
    Guests("ada", logging.getLogger("test")).watch(provider)
    handler = SimpleNamespace()
    assert await provider.get_user(handler) is None
    with pytest.raises(HTTPError, match="belongs to ada and is not shared with you"):
        handler.redirect("/hub/login")
