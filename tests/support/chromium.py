"""A headless Chromium, and windows of it that are logged in to a notebook server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.notebook_server import CHECKOUT, TOKEN, NotebookServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = "/usr/bin/chromium"
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
TIMEOUT_MS = 60_000
PICTURES_DIR = CHECKOUT / "tests/output/server"


@contextlib.contextmanager
def start_chromium() -> Iterator[Browser]:
    """Yield a browser; skip the test if there is none on this machine."""
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"{CHROMIUM} is not there; apt-get install chromium")
    # Not everybody who runs other tests has it.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


def log_in(browser: Browser, server: NotebookServer) -> BrowserContext:
    """Return a new context whose windows are logged in to `server`; the first one is open."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(TIMEOUT_MS)
    context.new_page().goto(f"{server.host}/user/ada/api/status?token={TOKEN}")
    return context


@contextlib.contextmanager
def logged_in_page(server: NotebookServer, timeout_ms: int = TIMEOUT_MS) -> Iterator[Page]:
    """Yield a page, in a browser of its own, that is logged in to `server`.

    Args:
        timeout_ms: How long it waits for what it looks for, milliseconds.
    """
    with start_chromium() as browser:
        (page,) = log_in(browser, server).pages
        page.set_default_timeout(timeout_ms)
        yield page


def picture(page: Page, name: str) -> None:
    """Keep what a page shows."""
    PICTURES_DIR.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES_DIR / f"{name}.png")
