"""What administrators of both kinds can do to others, and what the hub's log says of it."""

import re
from collections.abc import Iterator

import pytest
import requests
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect

from tests.hub.private_hub import Browser, PrivateHub
from tests.hub.private_slapd import PASSWORD
from tests.support.eventually import eventually

OPEN_ADAS_SESSION = {
    "client_id": "jupyterhub-user-ada",
    "redirect_uri": "/user/ada/oauth_callback",
    "response_type": "code",
    "state": "any",
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
}


@pytest.fixture
def ada(hub: PrivateHub) -> Iterator[Browser]:
    """Yield a user with a session."""
    browser = Browser(hub)
    browser.log_in("ada")
    browser.choose("ada", gpus="1")
    eventually(lambda: "Stop My Server" in browser.get("/hub/home").text, timeout_s=60)
    yield browser
    browser.stop("ada")
    eventually(lambda: "Not running" in browser.get("/hub/home").text, timeout_s=30)


def logged_in(hub: PrivateHub, name: str) -> Browser:
    browser = Browser(hub)
    assert browser.log_in(name).url.endswith("/hub/home")
    return browser


def ask(browser: Browser, method: str, path: str) -> requests.Response:
    return browser.http.request(
        method,
        f"{browser.hub.url}/hub/api{path}",
        headers={"X-XSRFToken": browser.xsrf()},
        timeout=30,
    )


def open_adas_session(browser: Browser) -> requests.Response:
    """Go the way of a browser that opens /user/ada/, and agree."""
    page = browser.get("/hub/api/oauth2/authorize", params=OPEN_ADAS_SESSION)
    if not page.ok:
        return page
    return browser.http.post(
        page.url,
        data={"scopes": "access:servers!server=ada/", "_xsrf": browser.xsrf()},
        allow_redirects=False,
        timeout=30,
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/users/ada/tokens", 403),
        # JupyterHub's answer about what one may not know of.
        ("POST", "/users/ada/servers/second", 404),
        ("PATCH", "/users/ada", 403),
        ("POST", "/shutdown", 403),
    ],
)
def test_an_administrator_cannot_become_or_change_anybody(
    ada: Browser, method: str, path: str, status: int
) -> None:
    assert ask(logged_in(ada.hub, "grace"), method, path).status_code == status


def test_an_administrator_cannot_open_a_session(ada: Browser) -> None:
    assert open_adas_session(logged_in(ada.hub, "grace")).status_code == 403


def test_each_access_of_a_full_administrator_is_in_the_log(ada: Browser) -> None:
    margaret = logged_in(ada.hub, "margaret")

    assert "code=" in open_adas_session(margaret).headers["Location"]
    assert ask(margaret, "POST", "/users/ada/tokens").status_code == 201

    asked = r"margaret asked for POST /hub/api/users/ada/tokens.* ada, from"
    # The hub writes the line when it has answered.
    eventually(lambda: re.search(asked, ada.hub.log_path.read_text()), timeout_s=10)
    log = ada.hub.log_path.read_text()
    assert "margaret opened the session of ada, from 127.0.0.1" in log
    assert "ada opened the session of" not in log


def test_jupyterhubs_own_page_shows_an_administrator_no_button_that_would_be_refused(
    chromium: Chromium, ada: Browser
) -> None:
    context = chromium.new_context(base_url=ada.hub.url)
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.goto("/hub/login")
    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/hub/home"))

    page.goto("/hub/admin")
    stop = page.get_by_role("row", name=re.compile(r"\bada\b")).get_by_role(
        "button", name="Stop Server"
    )
    expect(stop).to_be_visible()
    shown = {text.strip() for text in page.get_by_role("button").all_inner_texts()} - {""}
    links = {text.strip() for text in page.get_by_role("link").all_inner_texts()}
    stop.click()
    expect(stop).to_have_count(0)

    dead = {"Add Users", "Manage Groups", "Start All", "Stop All", "Shutdown Hub", "Edit User"}
    assert not dead & shown
    assert not {"Start Server", "Spawn Page", "Access Server"} & (shown | links)
    context.close()
