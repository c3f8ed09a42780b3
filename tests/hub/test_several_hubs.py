"""Two hubs that share the users of one portal, behind the nginx of deploy/up --hubs 2."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from deploy.one_machine import hubs as demo
from portal.hub.hubs.placement import Hubs
from portal.hub.hubs.transfer import COOKIE, LIFE_S, Tickets
from tests.hub.private_hub import LDAP_LOGIN, Browser, PrivateHub, find_proxy, running_hub_with
from tests.hub.private_nginx import find_nginx
from tests.hub.private_openid import CLIENT_ID, CLIENT_SECRET, running_provider
from tests.hub.private_slapd import BASE, SLAPD, Authority, free_port, running_slapd
from tests.hub.test_other_login import OPENID_LOGIN
from tests.support.eventually import eventually

pytestmark = pytest.mark.skipif(
    not (SLAPD and find_proxy().exists() and find_nginx().exists()),
    reason=f"slapd, {find_proxy()} and {find_nginx()} are needed",
)
PATHS = ("/a/", "/b/")
# Administrators, one who is blocked, and one without an account on this host.
SPECIAL = ("grace", "margaret", "edsger", "ghost")
PEOPLE = ["ada", "linus", "barbara", *SPECIAL]


@dataclass
class Portal:
    """Both hubs, and the address that users open."""

    url: str
    hubs: dict[str, PrivateHub]
    folder: Path

    @property
    def placed(self) -> Hubs:
        """The hubs as the first one sees them."""
        return Hubs("/a/", PATHS, self.folder)

    def user_of(self, path: str) -> str:
        """Return somebody without special rights whose hub that is."""
        names = (name for name in PEOPLE if name not in SPECIAL)
        return next(name for name in names if self.placed.place(name).hub == path)

    def browser_at(self, path: str) -> Browser:
        """Return a browser whose user opens a hub by its own path."""
        return Browser(self.hubs[path])

    def page(self, browser: Browser, path: str) -> requests.Response:
        """Open a page of the portal."""
        return browser.http.get(f"{self.url}{path}", timeout=30)


@contextlib.contextmanager
def ldap_portal(folder: Path, authority: Authority) -> Iterator[Portal]:
    """Run two hubs that ask LDAP; yield them when all answer."""
    folder.mkdir(exist_ok=True)
    with running_slapd(folder / "slapd", authority, PEOPLE) as (port, _):
        servers = json.dumps([f"ldap://127.0.0.1:{port}"])
        login = LDAP_LOGIN.format(servers=servers, ca=authority.certificate, base=BASE)
        with running_portal(folder, f'{login}blocked_users = ["edsger"]\n') as portal:
            yield portal


@contextlib.contextmanager
def running_portal(folder: Path, login: str, **environment: str) -> Iterator[Portal]:
    """Run two hubs with these keys of [login], and nginx; yield them when all answer."""
    shared = folder / "hubs"
    shared.mkdir(mode=0o700)
    port = free_port()
    login += f'[hubs]\npaths = ["/a/", "/b/"]\nfolder = "{shared}"\n'
    with contextlib.ExitStack() as stack:
        portal = Portal(f"http://127.0.0.1:{port}", {}, shared)
        for path in PATHS:
            hub = stack.enter_context(
                running_hub_with(folder / path.strip("/"), login, base_url=path, **environment)
            )
            stack.callback(_end_proxy, folder / path.strip("/"))
            portal.hubs[path] = hub
        stack.enter_context(_running_front(folder / "front", port, portal))
        for path, hub in portal.hubs.items():
            hub.url = f"{portal.url}{path}".rstrip("/")
        yield portal


@contextlib.contextmanager
def _running_front(folder: Path, port: int, portal: Portal) -> Iterator[None]:
    folder.mkdir()
    parts = tuple(_DemoHub(path, urlsplit(hub.url).port or 0) for path, hub in portal.hubs.items())
    text = demo.front_settings(parts, listen=f"127.0.0.1:{port}", folder=folder)
    # pytest's folders are root's alone.
    config = folder / "nginx.conf"
    config.write_text(text.replace("user nobody nogroup;", "user root;"))
    process = subprocess.Popen([find_nginx(), "-c", config, "-e", "stderr"])
    try:
        eventually(lambda: requests.get(portal.url, timeout=2).ok, timeout_s=10)
        yield
    finally:
        process.terminate()
        process.wait(10)


@dataclass(frozen=True)
class _DemoHub:
    base_url: str
    public_port: int

    @property
    def name(self) -> str:
        return self.base_url.strip("/")


def _end_proxy(folder: Path) -> None:
    # Of a hub that was killed.
    with contextlib.suppress(OSError, ValueError):
        os.kill(int((folder / "jupyterhub-proxy.pid").read_text()), signal.SIGTERM)


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Portal]:
    with ldap_portal(tmp_path_factory.mktemp("several"), authority) as running:
        yield running


def test_whoever_logs_in_at_another_hub_is_brought_to_the_own_one(portal: Portal) -> None:
    user = portal.user_of("/b/")
    browser = portal.browser_at("/a/")

    home = browser.log_in(user)

    assert urlsplit(home.url).path == "/b/hub/home"
    assert user in home.text
    # Not logged in at the one that asked for the password.
    assert urlsplit(browser.get("/hub/home").url).path == "/a/hub/login"
    # The page at / knows the way.
    assert urlsplit(portal.page(browser, "/").url).path == "/b/hub/home"


def test_the_page_at_the_root_leads_to_the_hub_of_each_user(portal: Portal) -> None:
    for path in PATHS:
        entrance = Browser(portal.hubs["/a/"])
        login = portal.page(entrance, "/")
        entrance.hub = portal.hubs[f"/{urlsplit(login.url).path.split('/')[1]}/"]
        assert urlsplit(entrance.log_in(portal.user_of(path)).url).path == f"{path}hub/home"


def test_the_page_that_was_asked_for_is_the_one_that_opens(portal: Portal) -> None:
    user = portal.user_of("/b/")
    browser = portal.browser_at("/a/")
    asked = browser.get(f"/hub/spawn/{user}")

    opened = browser.http.post(
        asked.url, data={"username": user, "password": "right horse", "_xsrf": browser.xsrf()}
    )

    assert urlsplit(opened.url).path == f"/b/hub/spawn/{user}"


def test_pages_that_only_one_hub_has_keep_their_user(portal: Portal) -> None:
    """An administrator sees all sessions of each hub, a guest comes to a shared session."""
    for path in PATHS:
        browser = portal.browser_at(path)
        asked = browser.get("/hub/administration")
        opened = browser.http.post(
            asked.url,
            data={"username": "grace", "password": "right horse", "_xsrf": browser.xsrf()},
        )
        assert urlsplit(opened.url).path == f"{path}hub/administration"
        (other,) = set(PATHS) - {path}
        assert f'href="{other}hub/administration"' in opened.text


def test_a_wrong_password_and_a_closed_account_go_nowhere(portal: Portal) -> None:
    for path in PATHS:
        assert portal.browser_at(path).log_in(portal.user_of("/b/"), "wrong").status_code == 403
        assert portal.browser_at(path).log_in("edsger").status_code == 403


def arrive(portal: Portal, ticket: str, path: str = "/b/") -> requests.Response:
    """Come to a hub with a ticket."""
    return requests.get(f"{portal.url}{path}hub/arrive", cookies={COOKIE: ticket}, timeout=30)


def ticket_for(portal: Portal, user: str, to: str = "/b/") -> str:
    model = {"name": user, "auth_state": None, "admin": None}
    return Tickets(portal.folder, "/a/").write(model, to, n_steps=1)


def test_a_ticket_lets_in_once(portal: Portal) -> None:
    ticket = ticket_for(portal, portal.user_of("/b/"))

    assert urlsplit(arrive(portal, ticket).url).path == "/b/hub/home"
    assert urlsplit(arrive(portal, ticket).url).path == "/b/hub/login"


def test_a_ticket_for_another_hub_is_refused_and_used_up(portal: Portal) -> None:
    ticket = ticket_for(portal, portal.user_of("/b/"), to="/a/")

    assert urlsplit(arrive(portal, ticket).url).path == "/b/hub/login"
    assert urlsplit(arrive(portal, ticket, "/a/").url).path == "/a/hub/login"


def test_an_old_ticket_is_refused(portal: Portal) -> None:
    ticket = ticket_for(portal, portal.user_of("/b/"))
    (kept,) = (portal.folder / "arrivals").iterdir()
    content = json.loads(kept.read_text())
    kept.write_text(json.dumps(content | {"until": content["until"] - 2 * LIFE_S}))

    assert urlsplit(arrive(portal, ticket).url).path == "/b/hub/login"


@pytest.mark.parametrize("ticket", ["0" * 64, "../moves", "x", "0" * 63 + "%0a"])
def test_a_ticket_that_no_hub_wrote_is_refused(portal: Portal, ticket: str) -> None:
    assert urlsplit(arrive(portal, ticket).url).path == "/b/hub/login"


def test_a_ticket_helps_nobody_who_may_not_log_in(portal: Portal) -> None:
    """The hub that lets in checks the account itself."""
    for user in ("edsger", "ghost"):
        portal.placed.move(user, "/b/", at_once=True)
        assert arrive(portal, ticket_for(portal, user)).status_code == 403


def test_tickets_are_in_no_log_and_no_address(portal: Portal) -> None:
    browser = portal.browser_at("/a/")

    home = browser.log_in(portal.user_of("/b/"))

    tickets = [answer.cookies[COOKIE] for answer in home.history if answer.cookies.get(COOKIE)]
    assert tickets
    seen = "".join(hub.log_path.read_text() for hub in portal.hubs.values())
    seen += "".join(answer.url for answer in home.history)
    assert not any(ticket in seen for ticket in tickets)
    assert not list((portal.folder / "arrivals").iterdir())


def test_a_user_moves_when_the_last_session_has_ended(portal: Portal) -> None:
    user = portal.user_of("/a/")
    browser = portal.browser_at("/a/")
    browser.log_in(user)
    browser.choose(user)
    eventually(lambda: browser.get(f"/user/{user}/").text == "a notebook server", timeout_s=30)

    portal.placed.move(user, "/b/", at_once=False)

    # As before, also for a browser that comes anew and at the other hub.
    assert browser.get(f"/user/{user}/").text == "a notebook server"
    assert urlsplit(portal.browser_at("/b/").log_in(user).url).path == "/a/hub/home"
    browser.stop(user)
    eventually(lambda: portal.placed.place(user).hub == "/b/", timeout_s=30)
    assert urlsplit(portal.browser_at("/a/").log_in(user).url).path == "/b/hub/home"
    # The old cookie is still good here, and no start is.
    assert 'href="/b/hub/home"' in browser.get("/hub/home").text
    assert not browser.choose(user).ok
    portal.placed.move(user, "/a/", at_once=True)


def test_a_hub_that_is_killed_leaves_the_users_of_the_other_untouched(
    tmp_path: Path, authority: Authority
) -> None:
    with ldap_portal(tmp_path / "portal", authority) as portal:
        user = portal.user_of("/b/")
        browser = portal.browser_at("/b/")
        browser.log_in(user)
        browser.choose(user)
        session = f"/user/{user}/"
        eventually(lambda: browser.get(session).text == "a notebook server", timeout_s=30)

        os.kill(portal.hubs["/a/"].pid, signal.SIGKILL)

        assert browser.get(session).text == "a notebook server"
        assert browser.get("/hub/home").ok
        # The page at / is that of the one that lives, each time.
        for _ in range(4):
            entrance = Browser(portal.hubs["/b/"])
            assert urlsplit(portal.page(entrance, "/").url).path == "/b/hub/login"
        assert urlsplit(entrance.log_in(user).url).path == "/b/hub/home"


def test_a_login_at_an_openid_provider_leads_to_the_own_hub_too(tmp_path: Path) -> None:
    with running_provider() as provider:
        login = OPENID_LOGIN.format(client_id=CLIENT_ID, url=provider.url)
        with running_portal(tmp_path, login, OAUTH_CLIENT_SECRET=CLIENT_SECRET) as portal:
            for user_of, entrance in itertools.product(PATHS, PATHS):
                provider.user = {"preferred_username": portal.user_of(user_of)}
                browser = portal.browser_at(entrance)

                home = browser.get("/hub/oauth_login")

                assert urlsplit(home.url).path == f"{user_of}hub/home"
                assert provider.user["preferred_username"] in home.text
