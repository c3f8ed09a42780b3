"""The portal at /jupyter/ of a site that has other pages, behind the example of nginx."""

from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
import requests

from tests.hub.private_hub import Browser, PrivateHub, find_proxy, running_hub
from tests.hub.private_nginx import FrontEnd, find_nginx, running_nginx
from tests.hub.private_slapd import SLAPD, Authority, running_slapd

pytestmark = pytest.mark.skipif(
    not (SLAPD and find_proxy().exists() and find_nginx().exists()),
    reason=f"slapd, {find_proxy()} and {find_nginx()} are needed",
)
BASE_URL = "/jupyter/"
# Pages of the hub that lead on, as an administrator sees them.
PAGES = (
    "/hub/login",
    "/hub/home",
    "/hub/spawn/grace",
    "/hub/spawn/grace?rescue=1",
    "/hub/cluster",
    "/hub/administration",
    "/hub/token",
    "/hub/admin",
    "/hub/nothing-here",
    "/user/grace/lab",
)
LINKS = {"href", "src", "action", "formaction", "data-choices-url", "data-stop-url"}


@pytest.fixture(scope="module")
def hub_below(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority
) -> Iterator[PrivateHub]:
    """Yield a hub at /jupyter/ behind nginx."""
    folder = tmp_path_factory.mktemp("below")
    front_end = FrontEnd.on_free_ports()
    lines = f'public_url = "{front_end.url}"\ntrusted_proxies = ["127.0.0.1"]\n'
    with (
        running_slapd(folder / "slapd", authority, ["ada", "grace"]) as (port, _),
        running_hub(
            folder / "hub", [f"ldap://127.0.0.1:{port}"], authority.certificate, lines, BASE_URL
        ) as hub,
        running_nginx(folder / "nginx", front_end, authority, urlsplit(hub.url).port or 0),
    ):
        hub.url = f"{front_end.url}{BASE_URL}".rstrip("/")
        yield hub


@pytest.fixture
def grace(hub_below: PrivateHub, authority: Authority) -> Browser:
    browser = Browser(hub_below)
    browser.http.verify = str(authority.certificate)
    # Else the authorities that the environment names are asked in its place.
    browser.http.trust_env = False
    assert browser.log_in("grace").url == f"{hub_below.url}/hub/home"
    return browser


class _Links(HTMLParser):
    def __init__(self, page: requests.Response) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._url = page.url
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {value for name, value in attrs if name in LINKS and value}
        self.found |= {urljoin(self._url, value) for value in values}


@pytest.mark.parametrize("path", PAGES)
def test_no_link_of_a_page_leaves_the_path(grace: Browser, path: str) -> None:
    found = _Links(grace.get(path)).found

    on_site = {link for link in found if link.startswith(grace.hub.url.removesuffix("/jupyter"))}
    assert on_site
    assert not {link for link in on_site if not urlsplit(link).path.startswith(BASE_URL)}


def test_an_address_without_the_path_leads_nowhere(grace: Browser, hub_below: PrivateHub) -> None:
    root = hub_below.url.removesuffix("/jupyter")

    assert grace.http.get(f"{root}/hub/home", timeout=30).status_code == 404


def test_cookies_go_to_the_portal_alone(grace: Browser) -> None:
    assert {cookie.path for cookie in grace.http.cookies} <= {
        BASE_URL,
        f"{BASE_URL}hub/",
        f"{BASE_URL}hub/login",
    }


def test_what_rest_refuses_unread_is_refused_in_json(hub_below: PrivateHub) -> None:
    address = f"{hub_below.direct_url}/hub/api/user"

    refused = requests.post(address, data=b" " * (2 * 1024 * 1024), timeout=30)

    assert refused.status_code == 413
    assert "more than 1024 KiB" in refused.json()["message"]
