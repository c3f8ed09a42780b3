"""Guests of a session leave when the hub no longer allows them; with JupyterHub's own cache."""

import logging
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.services.auth import HubOAuth
from tornado.web import HTTPError
from tornado.websocket import WebSocketHandler

from portal.server.base.guest_rights import ForReaders, GuestRights, is_guest
from portal.server.sharing.guest_gate import GuestGate

ACCESS = "access:servers!server=ada/"


class Socket(WebSocketHandler):
    """A websocket that is open."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.closed_because = ""
        self.ws_connection: Any = object()
        self.request = request("GET", "/user/ada/api/kernels/x/channels")

    def close(self, code: int | None = None, reason: str | None = None) -> None:
        self.closed_because = reason or ""


class ReadingSocket(ForReaders, Socket):
    """A websocket of the page for those who only read."""


class Page:
    """A handler of a page."""

    def __init__(self, token: str, path: str = "/user/ada/files/x", method: str = "GET") -> None:
        self.token = token
        self.request = request(method, path)
        self.led_to = ""
        self._finished = False

    def get(self) -> None:
        """Answer."""

    post = get

    def redirect(self, url: str) -> None:
        """Lead elsewhere."""
        self.led_to = url


class ReadingPage(ForReaders, Page):
    """The page for those who only read."""


class Stream:
    """A connection to a browser."""

    is_closed = False

    def close(self) -> None:
        """Close it."""
        self.is_closed = True


def request(method: str, path: str) -> Any:
    connection = SimpleNamespace(stream=Stream())
    return SimpleNamespace(method=method, path=path, connection=connection)


class Hub:
    """Says what guests may do."""

    def __init__(self) -> None:
        self.rights: dict[str, Mapping[str, Any]] = {"grace": {"may_work": True}}

    async def read_guest(self, name: str) -> Mapping[str, Any]:
        return self.rights.get(name, {})


class Rights(GuestRights):
    """Asks each time."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        super().__init__(hub, logging.getLogger("test"), clock=iter(range(0, 10**6, 60)).__next__)


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


async def enter(hub_auth: HubAuth, *names: str) -> tuple[GuestGate, list[Socket]]:
    entered = Entered(hub_auth)
    sockets = [Socket(name) for name in names]
    for socket in sockets:
        await entered.admit(socket)
    return entered.guests, sockets


class Entered:
    """A session of ada that people enter, and how often they may have kept what lets them in."""

    def __init__(self, hub_auth: HubAuth) -> None:
        async def get_user(handler: Any) -> Any:
            return SimpleNamespace(username=handler.token)

        self.hub = Hub()
        self.n_fewer = 0
        provider = SimpleNamespace(hub_auth=hub_auth, get_user=get_user)
        self.guests = GuestGate(
            "ada", logging.getLogger("test"), Rights(self.hub), on_fewer=self.count
        )
        self.guests.watch(provider)
        self.admit = provider.get_user

    def count(self) -> None:
        """Note that somebody who could work may not any more."""
        self.n_fewer += 1


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
    GuestGate("ada", logging.getLogger("test"), Rights(Hub())).watch(provider)
    handler = SimpleNamespace()
    assert await provider.get_user(handler) is None
    with pytest.raises(HTTPError, match="belongs to ada and is not shared with you"):
        handler.redirect("/hub/login")


def entrance(**rights: Mapping[str, Any]) -> Any:
    """Return what lets people into a session of ada, with these rights."""

    async def get_user(handler: Any) -> Any:
        return SimpleNamespace(username=handler.token)

    provider = SimpleNamespace(hub_auth=None, get_user=get_user)
    hub = Hub()
    hub.rights = rights
    GuestGate("ada", logging.getLogger("test"), Rights(hub), "/user/ada/").watch(provider)
    return provider.get_user


READS: Mapping[str, Any] = {"documents": ["work/a.ipynb"]}


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_who_may_only_read_is_refused_whatever_is_not_made_for_it(method: str) -> None:
    admit = entrance(linus=READS)
    with pytest.raises(HTTPError, match="lets you read here, and nothing else") as refused:
        await admit(Page("linus", method=method))
    assert refused.value.status_code == 403
    assert (await admit(ReadingPage("linus"))).username == "linus"
    with pytest.raises(HTTPError, match="ask ada to let you work"):
        await admit(Socket("linus"))


async def test_a_share_that_says_nothing_lets_nobody_do_anything() -> None:
    for page in (Page("linus"), ReadingPage("linus")):
        with pytest.raises(HTTPError, match="is not shared with you"):
            await entrance(linus={})(page)


async def test_what_guests_do_keeps_no_session() -> None:
    admit = entrance(grace={"may_work": True})
    page, own = Page("grace"), Page("ada")
    await admit(page)
    await admit(own)
    assert (is_guest(page), is_guest(own)) == (True, False)
    assert not page._track_activity  # type: ignore[attr-defined]
    assert not hasattr(own, "_track_activity")


async def test_who_may_no_longer_work_is_cut_off_from_what_runs(hub_auth: HubAuth) -> None:
    entered = Entered(hub_auth)
    socket, reading = Socket("grace"), ReadingSocket("grace")
    goes_on, over = Page("grace"), Page("grace")
    for handler in (socket, reading, goes_on, over):
        await entered.admit(handler)
    over._finished = True
    entered.hub.rights = {"grace": READS}
    await entered.guests.check()
    assert (socket.closed_because, reading.closed_because) == (
        "The owner no longer shares this session.",
        "",
    )
    # The connection of an answer that is over serves others.
    streams = [page.request.connection.stream for page in (goes_on, over)]
    assert [stream.is_closed for stream in streams] == [True, False]


@pytest.mark.parametrize("left", [READS, {}])
async def test_what_somebody_who_worked_may_have_kept_ends_once(
    hub_auth: HubAuth, left: Mapping[str, Any]
) -> None:
    entered = Entered(hub_auth)
    # Nothing of them need be open.
    await entered.admit(Page("grace"))
    await entered.guests.check()
    assert entered.n_fewer == 0
    entered.hub.rights = {"grace": left}
    await entered.guests.check()
    await entered.guests.check()
    assert entered.n_fewer == 1
    entered.hub.rights = {"grace": {"may_work": True}}
    await entered.admit(Page("grace"))
    entered.hub.rights = {}
    await entered.guests.check()
    assert entered.n_fewer == 2


async def test_an_answer_that_still_counts_lets_nobody_stay_longer(hub_auth: HubAuth) -> None:
    entered = Entered(hub_auth)
    log = logging.getLogger("test")
    entered.guests.rights = GuestRights(entered.hub, log, clock=lambda: 0.0)
    await entered.admit(Page("grace"))
    entered.hub.rights = {}
    await entered.guests.check()
    assert entered.n_fewer == 1


async def test_the_end_of_reading_ends_nothing_else(hub_auth: HubAuth) -> None:
    entered = Entered(hub_auth)
    entered.hub.rights = {"grace": READS}
    await entered.admit(ReadingPage("grace"))
    entered.hub.rights = {}
    await entered.guests.check()
    assert entered.n_fewer == 0
