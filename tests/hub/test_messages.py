"""Messages to a chat: the page of addresses, and a server of ntfy's kind that gets them."""

import json
import re
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect

from tests.browser.axe import expect_accessible
from tests.hub.private_hub import LDAP_LOGIN, Browser, PrivateHub, running_hub_with
from tests.hub.private_slapd import BASE, PASSWORD, Authority, running_slapd
from tests.support.eventually import eventually
from tests.support.stand_in_server import Handler, serving

PAGE = "/hub/portal/messages"
TWO_LOOKS_S = 40
# The hub of these tests looks a session over that ends in eight hours: it ends soon.
SETTINGS = """
[mail]
before_end_minutes = 1000

[chat]
allowed = ["ntfy://127.0.0.1:{port}/"]
"""


class Ntfy(ThreadingHTTPServer):
    """Takes messages as ntfy does, and sends those for the topic `away` elsewhere."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), NtfyHandler)
        self.messages: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str]] = []


class NtfyHandler(Handler):
    """One request to it."""

    server: Ntfy

    def do_GET(self) -> None:
        """Note what must not be asked."""
        self.server.asked.append(("GET", self.path))
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        """Take a message."""
        self.server.asked.append(("POST", self.path))
        message = self.read_json()
        if message["topic"] == "away":
            self.send_response(302)
            self.send_header("Location", "/hub/secret")
            self.end_headers()
            return
        self.server.messages.append(message)
        self.answer(200, {})


@pytest.fixture(scope="module")
def ntfy() -> Iterator[Ntfy]:
    with serving(Ntfy()) as server:
        yield server


@pytest.fixture(scope="module")
def hub(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority, ntfy: Ntfy
) -> Iterator[PrivateHub]:
    folder: Path = tmp_path_factory.mktemp("messages")
    with running_slapd(folder / "slapd", authority, ["ada", "grace"]) as (port, _):
        servers = json.dumps([f"ldap://127.0.0.1:{port}"])
        login = LDAP_LOGIN.format(servers=servers, ca=authority.certificate, base=BASE)
        login += SETTINGS.format(port=ntfy.server_address[1])
        with running_hub_with(folder / "hub", login) as hub:
            yield hub


@pytest.fixture(scope="module")
def ada(hub: PrivateHub) -> Browser:
    browser = Browser(hub)
    browser.log_in("ada").raise_for_status()
    return browser


def press(browser: Browser, do: str, address: str = "") -> requests.Response:
    fields = {"do": do, "address": address, "_xsrf": browser.xsrf()}
    return browser.http.post(f"{browser.hub.url}{PAGE}", data=fields, timeout=30)


def address_of(ntfy: Ntfy, topic: str) -> str:
    return f"ntfy://127.0.0.1:{ntfy.server_address[1]}/{topic}"


def test_what_mail_would_say_comes_to_the_chat_that_the_user_has_named(
    hub: PrivateHub, ada: Browser, ntfy: Ntfy
) -> None:
    assert press(ada, "chat", address_of(ntfy, "gpus-of-ada")).ok
    assert ntfy.messages == []
    assert "At both" in ada.get("/hub/spawn").text

    ada.choose("ada", gpus="2", mail="At the end").raise_for_status()
    eventually(lambda: len(ntfy.messages) == 1, TWO_LOOKS_S)
    hub.set_cluster(ending="The node node01 was lost.")
    ada.stop("ada").raise_for_status()
    eventually(lambda: len(ntfy.messages) == 2, TWO_LOOKS_S)

    before, after = ntfy.messages
    assert {one["topic"] for one in ntfy.messages} == {"gpus-of-ada"}
    assert before["title"] == "Your session ends soon (Data Scientist Portal)"
    assert "ends in 8 hours" in before["message"]
    assert "The node node01 was lost." in after["message"]


def test_the_hub_sends_nothing_anywhere_else(hub: PrivateHub, ada: Browser, ntfy: Ntfy) -> None:
    asked = list(ntfy.asked)
    api = hub.direct_url.partition("://")[2]

    for address in (f"json://{api}/hub/api", f"ntfy://{api}/topic", f"http://{api}"):
        refused = press(ada, "chat", address)
        assert refused.status_code == 400
        assert "This site sends nothing to" in refused.text
    # A server that is allowed passes nobody on.
    assert press(ada, "chat", address_of(ntfy, "away")).ok
    assert press(ada, "test").status_code == 400

    assert ntfy.asked[len(asked) :] == [("POST", "/")]


def test_an_address_is_neither_shown_nor_anybody_elses(
    hub: PrivateHub, ada: Browser, ntfy: Ntfy
) -> None:
    assert press(ada, "chat", address_of(ntfy, "secret-of-ada")).ok
    grace = Browser(hub)
    grace.log_in("grace").raise_for_status()

    assert "secret-of-ada" not in ada.get(PAGE).text
    assert "No messages are sent." in grace.get(PAGE).text
    assert press(grace, "test").status_code == 400
    assert Browser(hub).get(PAGE).url.partition("?")[0].endswith("/hub/login")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_reached_from_the_menu_and_tells_what_has_happened(
    hub: PrivateHub, ntfy: Ntfy, chromium: Chromium, width: int
) -> None:
    context = chromium.new_context(
        viewport={"width": width, "height": 860}, base_url=hub.url, reduced_motion="reduce"
    )
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.goto("/hub/login")
    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/hub/home"))
    if not page.get_by_text("Menu of grace").is_visible():
        page.get_by_role("button", name="Toggle navigation").click()
    page.locator("#login_widget summary").click()
    page.get_by_role("link", name="Messages", exact=True).click()
    expect_accessible(page)

    page.get_by_label("Address in").fill(address_of(ntfy, f"grace-{width}"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Messages go there from now on.")
    expect_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    page.get_by_role("button", name="Forget the address").click()
    expect(page.get_by_text("No messages are sent.")).to_be_visible()
    context.close()
