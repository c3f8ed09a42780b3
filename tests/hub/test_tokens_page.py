"""The page of tokens in Chromium, and what a token that it makes may do."""

import re
from collections.abc import Iterator

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import expect_accessible
from tests.hub.private_hub import PrivateHub
from tests.hub.private_slapd import PASSWORD


@pytest.fixture
def page(chromium: Browser, hub: PrivateHub) -> Iterator[Page]:
    """Yield linus' page of tokens."""
    context = chromium.new_context(base_url=hub.url, viewport={"width": 1280, "height": 860})
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.goto("/hub/login?next=%2Fhub%2Ftoken")
    page.get_by_label("Username").fill("linus")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/hub/token"))
    yield page
    context.close()


def status_with(hub: PrivateHub, token: str, path: str) -> int:
    headers = {"Authorization": f"token {token}"}
    return requests.get(f"{hub.url}/hub/api{path}", headers=headers, timeout=30).status_code


def test_a_token_may_little_expires_and_works_until_it_is_revoked(
    page: Page, hub: PrivateHub
) -> None:
    page.get_by_label("Purpose").fill("nightly training")
    page.get_by_role("button", name="Make the token").click()

    made = page.get_by_role("region", name="Your new token").get_by_role("textbox")
    expect(made).to_have_value(re.compile("^[0-9a-f]{32}$"))
    token = made.input_value()
    row = page.get_by_role("row", name=re.compile("^nightly training"))
    expect(row).to_contain_text("start, stop and extend your sessions")
    expect(row.locator("time")).to_have_count(2)
    expect_accessible(page)
    assert status_with(hub, token, "/users/linus") == 200
    assert status_with(hub, token, "/users/linus/tokens") == 403

    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke nightly training").click()

    expect(row).to_have_count(0)
    assert status_with(hub, token, "/users/linus") == 403


def test_the_page_that_the_laptop_opens_has_the_choice_made(page: Page) -> None:
    page.goto("/hub/token?for=sessions")

    expect(page.get_by_label("Purpose")).to_have_value("dsportal")
    expect(page.get_by_role("radio", name=re.compile("^Use my sessions"))).to_be_checked()
    expect(page.get_by_label("Expires after")).to_have_value(str(30 * 24 * 3600))


def test_a_token_that_the_hub_refuses_says_why(page: Page, hub: PrivateHub) -> None:
    page.get_by_label("Purpose").fill("too much")
    page.locator("input[name=scopes]").first.evaluate("e => { e.value = 'admin:users'; }")

    page.get_by_role("button", name="Make the token").click()

    expect(page.get_by_role("alert")).to_contain_text("Try again.")
    expect(page.get_by_role("region", name="Your new token")).to_have_count(0)
