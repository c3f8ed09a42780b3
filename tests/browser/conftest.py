"""A headless Chromium on the running portal; every picture goes to tests/output/browser."""

import functools
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Locator,
    Page,
    expect,
    sync_playwright,
)

OUTPUT_DIR = Path(__file__).parent.parent / "output" / "browser"
CHROMIUM = "/usr/bin/chromium"
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# A meter measures every 5 s, and a page polls; Playwright would wait just as long.
expect.set_options(timeout=20_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --picture-scale."""
    told = "pixels of a picture for each of the page; docs/make_pictures.py wants 2"
    parser.addoption("--picture-scale", type=float, default=1, help=told)


@pytest.fixture(scope="session")
def chromium(pytestconfig: pytest.Config) -> Iterator[Browser]:
    scale = pytestconfig.getoption("--picture-scale")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        new_context = functools.partial(browser.new_context, device_scale_factor=scale)
        browser.new_context = new_context  # type: ignore[method-assign]
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.fixture(scope="module")
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture(autouse=True)
def picture_of_the_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep what the browser showed at the end of each test, told by the test's name."""
    # Asked for before the test, so that it is still open after it.
    page = request.getfixturevalue("page") if "page" in request.fixturenames else None
    yield
    if page is not None and not page.is_closed():
        # A page that is just on its way to another address has no picture.
        with suppress(Error):
            picture(page, f"end-{request.node.name.split('[')[0]}")


def pictures(page: Page, name: str) -> None:
    """Save what the page shows on a wide screen, there in the dark, and all of it on a phone."""
    wide = page.viewport_size
    assert wide is not None
    picture(page, name)
    page.emulate_media(color_scheme="dark")
    picture(page, f"{name}-dark")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 360, "height": 740})
    page.screenshot(path=OUTPUT_DIR / f"{name}-360.png", full_page=True)
    page.set_viewport_size(wide)


def picture(page: Page | Locator, name: str) -> Path:
    """Save what the page, or a part of it, shows."""
    OUTPUT_DIR.mkdir(parents=True, exist_ok=True)
    path = OUTPUT_DIR / f"{name}.png"
    page.screenshot(path=path)
    return path


def file_in_browser(page: Page, name: str) -> Locator:
    """Return the line of a file in JupyterLab's file browser."""
    pattern = re.compile(f"^{re.escape(name)}$")
    return page.locator(".jp-DirListing-item").filter(
        has=page.locator(".jp-DirListing-itemText", has_text=pattern)
    )
