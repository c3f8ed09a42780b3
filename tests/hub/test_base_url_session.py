"""A session of a portal at /jupyter/ with further storage: its own hub on the real cluster."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Response, expect

from tests.support.portal_below import (
    BASE_URL,
    START_TIMEOUT_MS,
    STORAGE,
    PortalBelow,
    running_portal_below,
)
from tests.support.portal_client import demo_password

pytestmark = pytest.mark.cluster

USER = "ada"


@pytest.fixture(scope="module")
def portal() -> Iterator[PortalBelow]:
    with running_portal_below(USER) as portal:
        yield portal


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.mark.release
def test_a_user_logs_in_works_opens_a_tensorboard_and_logs_out(
    context: BrowserContext, portal: PortalBelow
) -> None:
    answers: list[Response] = []
    context.on("response", lambda answer: answers.append(answer))
    page = context.new_page()

    # The bare address leads to the portal.
    page.goto(f"{portal.root}/")
    page.wait_for_url(f"{portal.url}/hub/login*")
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{portal.url}/hub/home")
    page.get_by_role("link", name="My Server").click()
    # The form's script asks anew, and changes the link.
    with page.expect_response(re.compile(f"{BASE_URL}hub/portal/choices/{USER}")):
        page.locator("input[name=hours]").last.check(force=True)
        page.locator("input[name=gpus][value='1']").check(force=True)
    expect(page.locator("#choice-link")).to_have_attribute(
        "href", re.compile(rf"{BASE_URL}hub/spawn\?.*gpus=1")
    )
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(f"{portal.url}/user/{USER}/lab**", timeout=START_TIMEOUT_MS)
    expect(page.locator(".jp-DirListing-item").first).to_be_visible(timeout=60_000)
    expect(page.get_by_text(STORAGE, exact=True).first).to_be_visible()
    board = open_board(page, portal)
    page.goto(f"{portal.url}/hub/home")
    expect(page.get_by_text("Fast disks").first).to_be_visible()
    page.locator("#stop").click()
    expect(page.locator("#session-state")).to_have_text("Not running", timeout=60_000)
    page.locator("#login_widget summary").click()
    page.locator("#logout").click()
    page.wait_for_url(f"{portal.url}/hub/login*")

    assert board.startswith(f"{BASE_URL}user/{USER}/portal/tensorboards/")
    paths = {urlsplit(answer.url).path for answer in answers if answer.url.startswith("http")}
    assert {path for path in paths if not path.startswith(BASE_URL)} == {"/"}
    # JupyterLab asks for what was open in an earlier test, which may be gone.
    of_files = f"{portal.url}/user/{USER}/api/"
    refused = {(answer.status, answer.url) for answer in answers if answer.status >= 400}
    assert not {(status, url) for status, url in refused if not url.startswith(of_files)}


def open_board(page: Page, portal: PortalBelow) -> str:
    """Open a TensorBoard in a tab; return its path."""
    cookies = {
        cookie["path"]: cookie["value"]
        for cookie in page.context.cookies()
        if cookie["name"] == "_xsrf"
    }
    answer = page.request.post(
        f"{portal.url}/user/{USER}/portal/api/tensorboards",
        data={"logdir": "templates"},
        headers={"X-XSRFToken": cookies[f"{BASE_URL}user/{USER}/"]},
    )
    assert answer.ok, answer.text()
    url = str(answer.json()["url"])
    tab = page.context.new_page()
    tab.goto(f"{portal.root}{url}")
    expect(tab).to_have_title(re.compile("TensorBoard$"))
    expect(tab.locator("tb-webapp")).to_be_visible()
    tab.close()
    return url
