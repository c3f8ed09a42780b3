"""The portal behind the TLS front end of the example, a real nginx, and without one."""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import requests
from requests.adapters import HTTPAdapter

from tests.hub.private_hub import Browser, PrivateHub, find_proxy, running_hub
from tests.hub.private_nginx import FrontEnd, find_nginx, running_nginx
from tests.hub.private_slapd import PASSWORD, SLAPD, Authority, running_slapd
from tests.support.eventually import eventually

pytestmark = pytest.mark.skipif(
    not (SLAPD and find_proxy().exists() and find_nginx().exists()),
    reason=f"slapd, {find_proxy()} and {find_nginx()} are needed",
)
NOBODY_UID = 65534
HOST = "portal.example.com"
LOGIN_COOKIES = {"jupyterhub-hub-login", "jupyterhub-session-id", "portal-browser-ada", "_xsrf"}


@contextmanager
def portal_behind(
    front_end: FrontEnd, folder: Path, authority: Authority, **keys: str
) -> Iterator[PrivateHub]:
    """Run a hub behind nginx, with these keys of [hub]; yield it."""
    keys = {"public_address": "127.0.0.1", "public_url": front_end.url} | keys
    lines = "".join(f'{key} = "{value}"\n' for key, value in keys.items())
    lines += 'trusted_proxies = ["127.0.0.1"]\n'
    with (
        running_slapd(folder / "slapd", authority, ["ada", "grace", "linus"]) as (port, _),
        running_hub(
            folder / "hub", [f"ldap://127.0.0.1:{port}"], authority.certificate, lines
        ) as hub,
        running_nginx(folder / "nginx", front_end, authority, urlsplit(hub.url).port or 0),
    ):
        hub.url = front_end.url
        yield hub


@pytest.fixture(scope="module")
def front_end() -> FrontEnd:
    return FrontEnd.on_free_ports()


@pytest.fixture(scope="module")
def hub_behind(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority, front_end: FrontEnd
) -> Iterator[PrivateHub]:
    """Yield a hub behind nginx."""
    with portal_behind(front_end, tmp_path_factory.mktemp("front-end"), authority) as hub:
        yield hub


@pytest.fixture
def hub_with_subdomains(tmp_path: Path, authority: Authority) -> Iterator[PrivateHub]:
    """Yield a hub behind nginx that gives each user a host name."""
    url = f"https://{HOST}"
    keys = {"public_url": url, "subdomain_host": url}
    own = FrontEnd.on_free_ports()
    with portal_behind(own, tmp_path / "front-end", authority, **keys) as hub:
        yield hub


@pytest.fixture
def browser(hub_behind: PrivateHub, authority: Authority) -> Browser:
    return trusting_browser(hub_behind, authority)


def trusting_browser(hub: PrivateHub, authority: Authority) -> Browser:
    browser = Browser(hub)
    browser.http.verify = str(authority.certificate)
    # Else the authorities that the environment names are asked in its place.
    browser.http.trust_env = False
    return browser


def cookies_of(*answers: requests.Response) -> dict[str, Morsel[str]]:
    """Return the cookies that answers set, with what they say of each."""
    read: SimpleCookie = SimpleCookie()
    for answer in answers:
        for line in answer.raw.headers.getlist("Set-Cookie"):
            read.load(line)
    return dict(read)


def logged_in(browser: Browser) -> dict[str, Morsel[str]]:
    """Log in; return the cookies of every step."""
    form = browser.get("/hub/login")
    home = browser.log_in("ada")
    assert home.url.endswith("/hub/home"), home.text
    return cookies_of(form, *home.history, home)


def test_behind_tls_the_cookies_of_the_login_stay_with_tls_and_this_site(
    browser: Browser,
) -> None:
    cookies = logged_in(browser)

    assert set(cookies) >= LOGIN_COOKIES
    for name in cookies:
        assert cookies[name]["secure"], name
        assert cookies[name]["samesite"] == "Lax", name
    for name in set(cookies) - {"_xsrf"}:
        assert cookies[name]["httponly"], name


def test_a_browser_with_many_cookies_of_other_services_passes(browser: Browser) -> None:
    # More than nginx takes by itself, and less than the stock proxy behind it here.
    assert browser.get("/hub/login", headers={"Cookie": f"other={'x' * 12_000}"}).ok


def test_without_tls_the_cookies_of_the_login_stay_usable(hub: PrivateHub) -> None:
    cookies = logged_in(Browser(hub))

    assert set(cookies) >= LOGIN_COOKIES
    assert not any(cookies[name]["secure"] for name in cookies)
    assert {cookies[name]["samesite"] for name in cookies} == {"Lax"}


def test_browsers_learn_to_ask_for_tls_themselves(browser: Browser, front_end: FrontEnd) -> None:
    for path in ("/hub/login", "/hub/no-such-page"):
        kept = browser.get(path).headers["Strict-Transport-Security"]
        assert kept == "max-age=31536000"

    plain = requests.get(
        f"http://localhost:{front_end.plain_port}/hub/login", allow_redirects=False, timeout=10
    )
    assert plain.status_code == 301
    assert plain.headers["Location"] == "https://localhost/hub/login"


@pytest.mark.parametrize(
    "forged",
    [
        {"X-Scheme": "http", "X-Forwarded-Proto": "http", "Forwarded": "proto=http"},
        {"X-Forwarded-Host": "evil.example", "X-Forwarded-Port": "1", "X-Real-IP": "192.0.2.1"},
    ],
    ids=["scheme", "host"],
)
def test_what_a_browser_says_of_itself_changes_no_cookie_and_no_address(
    browser: Browser, forged: dict[str, str]
) -> None:
    browser.http.headers.update(forged)

    cookies = logged_in(browser)

    assert all(cookies[name]["secure"] for name in cookies)
    assert "evil.example" not in browser.get("/hub/home").text
    lines = browser.hub.log_path.read_text().splitlines()
    assert not any("192.0.2.1" in line for line in lines)


def test_an_address_of_a_session_leads_to_the_page_that_users_open(browser: Browser) -> None:
    logged_in(browser)

    page = browser.get("/user/ada/lab")

    assert page.url.startswith(f"{browser.hub.url}/hub/")
    assert PASSWORD not in page.text


def test_each_user_has_a_host_name_where_the_site_says_so(
    hub_with_subdomains: PrivateHub, authority: Authority
) -> None:
    browser = trusting_browser(hub_with_subdomains, authority)
    browser.http.headers["Host"] = HOST
    logged_in(browser)
    browser.http.post(
        f"{browser.hub.url}/hub/spawn/ada?_xsrf={browser.xsrf()}",
        data={"gpus": "1"},
        allow_redirects=False,
        timeout=30,
    )
    own = f"ada.{HOST}"

    eventually(
        lambda: goes_to(browser, "/hub/spawn-pending/ada") == f"https://{own}/user/ada/",
        timeout_s=20,
    )
    assert browser.get("/user/ada/", headers={"Host": own}).text == "a notebook server"
    assert goes_to(browser, "/user/ada/") != ""


def goes_to(browser: Browser, path: str) -> str:
    """Return where a page leads on; empty where it is a page itself."""
    return browser.get(path, allow_redirects=False).headers.get("Location", "")


class From(HTTPAdapter):
    """Lets requests come from another address of the loopback."""

    def __init__(self, address: str) -> None:
        self.address = address
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, source_address=(self.address, 0), **kwargs)


def test_a_login_comes_from_where_the_browser_is_through_front_end_and_proxy(
    browser: Browser,
) -> None:
    browser.http.mount("https://", From("127.0.5.9"))
    browser.http.headers["X-Forwarded-For"] = "198.51.100.1"

    browser.log_in("grace", "wrong")

    assert wrong_passwords(browser.hub, "grace") == {"127.0.5.9"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account")
def test_who_goes_straight_to_the_hub_cannot_choose_an_address(hub_behind: PrivateHub) -> None:
    settings = (hub_behind.log_path.parent / "portal.toml").read_text()
    (port,) = re.findall(r"api_port = (\d+)", settings)
    headers = {"X-Forwarded-For": "198.51.100.1", "X-Real-IP": "198.51.100.1"}
    connection = HTTPConnection("127.0.0.1", int(port), timeout=30)
    connection.sock = socket_of_another_account(int(port))

    connection.request("GET", "/hub/login", headers=headers)
    form = connection.getresponse()
    form.read()
    (xsrf,) = re.findall(r"_xsrf=([^;]+);", form.headers["Set-Cookie"])
    body = urlencode({"username": "linus", "password": "wrong", "_xsrf": xsrf})
    headers |= {
        "Cookie": f"_xsrf={xsrf}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    connection.request("POST", "/hub/login", body, headers)

    assert connection.getresponse().status == 403
    connection.close()
    assert wrong_passwords(hub_behind, "linus") == {"127.0.0.1"}


def socket_of_another_account(port: int) -> socket.socket:
    """Return a connection as a user of the hub's host has it."""
    os.seteuid(NOBODY_UID)
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=30)
    finally:
        os.seteuid(0)


def wrong_passwords(hub: PrivateHub, name: str) -> set[str]:
    """Return where wrong passwords for somebody came from, as the hub's log says."""
    return set(re.findall(rf"{name} from (\S+): wrong password", hub.log_path.read_text()))
