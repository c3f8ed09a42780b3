"""axe-core on the pages that only the real portal fills: home and form."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.axe import expect_accessible
from tests.support.portal_client import ADDRESS, demo_password

pytestmark = pytest.mark.cluster

# The administrator of the demo.
USER = "grace"


@pytest.fixture(scope="module", params=["light", "dark"])
def page(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = chromium.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme=request.param
    )
    page = context.new_page()
    page.goto(f"{ADDRESS}/hub/login")
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/hub/home"))
    yield page
    context.close()


@pytest.mark.parametrize("path", ["/hub/home", f"/hub/spawn/{USER}"])
def test_page(page: Page, path: str) -> None:
    answer = page.goto(f"{ADDRESS}{path}")

    assert answer is not None
    assert answer.ok
    expect_accessible(page)
