"""Saves whose requests or answers are lost on the way, in Chromium."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import BrowserContext, Page, Route, expect  # noqa: E402

from tests.support.chromium import TIMEOUT_MS  # noqa: E402
from tests.support.notebook_server import NotebookServer  # noqa: E402

CONTENTS = re.compile(r"/api/contents/notes\.txt")


@pytest.fixture
def notes(server: NotebookServer) -> Path:
    path = server.root / "notes.txt"
    path.write_text("one")
    return path


@pytest.fixture
def page(context: BrowserContext, server: NotebookServer, notes: Path) -> Iterator[Page]:
    """The open file, with a change that is not saved."""
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/lab/workspaces/saves/tree/notes.txt?reset")
    page.locator(".jp-FileEditor .cm-content").click(timeout=TIMEOUT_MS)
    page.keyboard.press("Control+End")
    page.keyboard.type(" two")
    yield page
    page.close()


def test_a_save_whose_answer_was_lost_asks_nobody_whether_to_overwrite_it(
    page: Page, notes: Path
) -> None:
    lost: list[str] = []

    def lose_the_first_answer(route: Route) -> None:
        if route.request.method == "PUT" and not lost:
            lost.append(route.fetch().text())
            route.abort()
        else:
            route.continue_()

    page.route(CONTENTS, lose_the_first_answer)
    page.keyboard.press("Control+s")
    expect(page.get_by_text("notes.txt will be saved when it is back").first).to_be_visible()
    assert lost
    assert notes.read_text() == "one two"
    page.keyboard.type(" three")

    expect(page.get_by_text("notes.txt has been saved.").first).to_be_visible()
    assert notes.read_text() == "one two three"
    expect(page.locator(".jp-Dialog")).to_have_count(0)


def test_what_was_changed_elsewhere_meanwhile_is_asked_for(page: Page, notes: Path) -> None:
    page.route(CONTENTS, lambda route: route.abort())
    page.keyboard.press("Control+s")
    expect(page.get_by_text("notes.txt will be saved when it is back").first).to_be_visible()
    notes.write_text("another")
    page.unroute(CONTENTS)

    expect(page.get_by_role("dialog")).to_contain_text("has changed on disk")
    assert notes.read_text() == "another"


def test_a_refusal_of_the_session_is_shown_at_once(page: Page, notes: Path) -> None:
    refusal = '{"message": "Your home is full."}'
    page.route(
        CONTENTS,
        lambda route: (
            route.fulfill(status=507, content_type="application/json", body=refusal)
            if route.request.method == "PUT"
            else route.continue_()
        ),
    )
    page.keyboard.press("Control+s")

    expect(page.get_by_role("dialog")).to_contain_text("File Save Error for notes.txt")


def test_after_the_end_of_a_session_one_message_says_what_becomes_of_changes(page: Page) -> None:
    page.route(
        re.compile(r"/user/ada/(api|portal/api)/"),
        lambda route: route.fulfill(status=424, content_type="application/json", body="{}"),
    )
    page.keyboard.press("Control+s")

    told = page.get_by_role("dialog").filter(has_text="This session has ended")
    expect(told).to_contain_text("will be saved when you start a session again", timeout=TIMEOUT_MS)
    toast = page.locator(".Toastify__toast")
    expect(toast).to_have_count(0)
    told.get_by_role("button", name="Close").click()

    expect(toast).to_contain_text(
        "notes.txt will be saved when you start a session again.", timeout=TIMEOUT_MS
    )
    expect(toast.get_by_role("button", name="Start a session")).to_be_visible()
