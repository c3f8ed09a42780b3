"""TensorBoard from the pages of JupyterLab and Notebook, in a headless Chromium."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect  # noqa: E402

from tests.support.chromium import log_in, picture  # noqa: E402
from tests.support.event_files import FINAL_ACCURACY, write_run  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402

PAGE_TIMEOUT_MS = 60_000
CHARTS_TIMEOUT_MS = 60_000
expect.set_options(timeout=30_000)
CURVE_END = f"{FINAL_ACCURACY:.4f}"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    """JupyterLab and Notebook with the extension of this checkout."""
    folder = tmp_path_factory.mktemp("pages")
    # As a hub of the portal's tells it, which has the guide.
    environ = {"PORTAL_SETTINGS": json.dumps({"extensions": {}})}
    server = start_jupyterlab(folder, tensorboard_python, environ)
    for name in ("logs", "runs/first", "runs/second"):
        write_run(tensorboard_python, server.root / name)
    shutil.rmtree(server.root / "broken")
    yield server
    server.stop()


@pytest.fixture
def context(browser: Browser, server: NotebookServer) -> Iterator[BrowserContext]:
    context = log_in(browser, server)
    yield context
    context.close()
    server.close_all()


@pytest.fixture
def lab(context: BrowserContext, server: NotebookServer) -> Page:
    return load(context, f"{server.host}/user/ada/lab/workspaces/test?reset")


@pytest.fixture
def notebook(context: BrowserContext, server: NotebookServer) -> Page:
    return load(context, f"{server.host}/user/ada/tree")


@pytest.fixture(params=["lab", pytest.param("notebook", marks=pytest.mark.release)])
def page(request: pytest.FixtureRequest) -> Page:
    return request.getfixturevalue(request.param)


def load(context: BrowserContext, url: str) -> Page:
    page = context.new_page()
    page.goto(url)
    expect(folder(page, "logs")).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    expect(button(page)).to_be_visible()
    return page


def folder(page: Page, name: str, *, inside: str = "body") -> Locator:
    text = page.locator(".jp-DirListing-itemText", has_text=re.compile(f"^{name}$"))
    return page.locator(f"{inside} .jp-DirListing-item").filter(has=text)


def select(page: Page, *names: str) -> None:
    """Select folders the way that each page wants it."""
    for n, name in enumerate(names):
        checkbox = folder(page, name).locator("input[type=checkbox]")
        if checkbox.count():
            checkbox.click()
        else:
            folder(page, name).click(modifiers=["Control"] if n else [])


def button(page: Page) -> Locator:
    return page.locator(".jp-FileBrowser-toolbar").get_by_title(re.compile("TensorBoard"))


def expect_curves(tab: Page, *, runs: int = 1) -> None:
    """The tab is led to TensorBoard, and the last value of a curve is on its page."""
    tab.wait_for_url(re.compile("/user/ada/portal/tensorboards/"))
    values = tab.get_by_text(CURVE_END)
    expect(values.first).to_be_visible(timeout=CHARTS_TIMEOUT_MS)
    assert values.count() >= runs


def test_the_button_opens_the_selected_folder_in_a_tab(context: BrowserContext, page: Page) -> None:
    refused: list[str] = []
    context.on("response", lambda answer: refused.append(answer.url) if not answer.ok else None)
    select(page, "logs")
    picture(page, f"{'tree' if '/tree' in page.url else 'lab'}-selected")

    with context.expect_page() as opened:
        button(page).click()

    expect(opened.value.locator("body")).to_contain_text("TensorBoard")
    expect_curves(opened.value)
    picture(opened.value, "tensorboard")
    assert [url for url in refused if "tensorboards" in url or "font" in url] == []


def test_two_folders_are_open_at_once_and_survive_a_reload(
    context: BrowserContext, page: Page
) -> None:
    tabs = []
    for name in ("logs", "runs"):
        folder(page, name).click(button="right")
        with context.expect_page() as opened:
            page.locator(".lm-Menu").get_by_text("Open in TensorBoard").click()
        tabs.append(opened.value)
        expect_curves(opened.value)

    tabs[0].reload()

    expect_curves(tabs[0])
    assert tabs[0].url.split("#")[0] != tabs[1].url.split("#")[0]


def test_selected_folders_are_compared(context: BrowserContext, page: Page) -> None:
    folder(page, "runs").get_by_text("runs").dblclick()
    expect(folder(page, "first")).to_be_visible()
    expect(button(page)).not_to_have_attribute("aria-disabled", "true")
    select(page, "first", "second")

    with context.expect_page() as opened:
        button(page).click()

    expect_curves(opened.value, runs=2)


def test_without_a_folder_there_is_nothing_to_open(page: Page) -> None:
    expect(button(page)).to_have_attribute("aria-disabled", "true")


def test_a_refusal_is_shown_and_its_tab_closed(
    context: BrowserContext, page: Page, server: NotebookServer
) -> None:
    select(page, "mute")
    (server.root / "mute").rmdir()
    n_pages = len(context.pages)

    button(page).click()

    expect(page.get_by_text("which does not exist. Refresh the file browser")).to_be_visible()
    assert len(context.pages) == n_pages
    (server.root / "mute").mkdir()


def test_a_blocked_tab_becomes_a_link(context: BrowserContext, page: Page) -> None:
    page.evaluate("() => { window.open = () => null; }")
    select(page, "logs")

    button(page).click()

    expect(page.get_by_text("TensorBoard for logs is ready.")).to_be_visible()
    expect(page.get_by_role("button", name="Open TensorBoard")).to_be_visible()


def test_the_licences_are_for_the_user_and_a_refusal_is_answered(server: NotebookServer) -> None:
    url = f"{server.host}/user/ada/lab/api/licenses/"

    for method in ("GET", "PUT", "DELETE"):
        answer = requests.request(method, url, timeout=10)
        assert (answer.status_code, "message" in answer.json()) == (403, True)
    assert server.http.get(url, timeout=60).json()["bundles"]


def choose_logs(context: BrowserContext, page: Page) -> Page:
    folder(page, "logs", inside=".jp-Dialog").click()
    with context.expect_page() as opened:
        page.locator(".jp-Dialog").get_by_role("button", name="Select").click()
    return opened.value


def test_the_new_menu_of_notebook_has_everything(context: BrowserContext, notebook: Page) -> None:
    notebook.get_by_role("menuitem", name="New", exact=True).click()
    menu = notebook.locator(".lm-Menu")
    picture(notebook, "tree-new")
    for name in ("Python 3", "Terminal", "New File", "New Folder", "TensorBoard"):
        expect(menu.get_by_text(re.compile(f"^{name}"))).to_have_count(1)
    beside = menu.locator(".lm-Menu-item").evaluate_all(
        """items => items.map(item => [...item.querySelectorAll('svg, .lm-Menu-itemLabel')]
            .map(part => part.getBoundingClientRect())
            .map(({ top, height }) => top + height / 2))"""
    )
    assert [line for line in beside if len(line) == 2 and abs(line[0] - line[1]) > 1] == []

    menu.get_by_text("TensorBoard").click()

    expect_curves(choose_logs(context, notebook))


def test_the_launcher_of_jupyterlab_asks_for_the_folder(context: BrowserContext, lab: Page) -> None:
    lab.locator(".jp-LauncherCard").filter(has_text="TensorBoard").click()
    guide = lab.locator(".jp-Dialog").get_by_role("link", name="See the guide")
    expect(guide).to_have_attribute("href", "/hub/help/tensorboard")
    picture(lab, "lab-folder")

    expect_curves(choose_logs(context, lab))


def test_every_button_is_a_command_of_the_palette(lab: Page) -> None:
    lab.keyboard.press("Control+Shift+C")
    palette = lab.locator(".lm-CommandPalette")

    for label in ("TensorBoard", "Jobs and Runs", "Show Resource Usage"):
        expect(palette.get_by_role("menuitem", name=label, exact=True)).to_be_attached()
    palette.get_by_placeholder("SEARCH").fill("tensorboard")
    picture(lab, "lab-palette")
    palette.get_by_text("TensorBoard", exact=True).click()

    expect(lab.locator(".jp-Dialog")).to_contain_text("Choose the folder with the logs")


def test_the_list_of_what_runs_shows_and_stops_them(page: Page, server: NotebookServer) -> None:
    server.open("logs")
    server.open("runs/first", "runs/second")

    page.get_by_role("tab", name=re.compile("Running")).first.click()
    listed = page.locator(".jp-RunningSessions")
    page.get_by_role("button", name="Refresh List").first.click()

    expect(listed.get_by_text("runs/first, runs/second", exact=True)).to_be_visible()
    listed.get_by_role("button", name="Stop All").click()
    page.locator(".jp-Dialog").get_by_role("button", name=re.compile("Stop|Shut")).click()
    expect(listed.get_by_text("runs/first, runs/second", exact=True)).to_have_count(0)
    assert server.ask("GET").json() == []
