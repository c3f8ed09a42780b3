"""The page of those who only read: a notebook as its owner changes it, in another browser."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook  # noqa: E402
from playwright.sync_api import Browser, Locator, Page, expect  # noqa: E402

from tests.browser.axe import expect_accessible  # noqa: E402
from tests.server.test_kernels_in_browser import (  # noqa: E402
    open_notebook,
)
from tests.support.chromium import TIMEOUT_MS, log_in, picture  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402

ADDRESS = "lab/workspaces/reading/tree/work/results.ipynb?reset"
# Slurm kills what is left 30 s after SIGTERM.
END_TIMEOUT_S = 15
CURSOR_TIMEOUT_S = 10
NOBODY_ID = 65534
TABLE = """from IPython.display import HTML
HTML("<table><tbody><tr><td>accuracy</td><td>0.97</td></tr></tbody></table>"
     "<script>document.title = 'taken over'</script>")"""


def start_server(folder: Path, tensorboard_python: Path) -> NotebookServer:
    # The hub gives both to sessions; without the second one, a room is looked up before the login.
    environ = {
        "PORTAL_SETTINGS": json.dumps(
            {"sharing": {"enabled": True}, "notebooks": {"save_output": True}}
        ),
        "JUPYTER_SERVER_ALLOW_UNAUTHENTICATED_ACCESS": "false",
    }
    return start_jupyterlab(folder, tensorboard_python, environ=environ)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    server = start_server(tmp_path_factory.mktemp("reading"), tensorboard_python)
    yield server
    server.stop()


@pytest.fixture
def notebook(browser: Browser, server: NotebookServer) -> Iterator[Path]:
    yield write_notebook(server)
    # A window that a failed test left open would keep the notebook open for the next one.
    for window in browser.contexts:
        window.close()


def write_notebook(server: NotebookServer) -> Path:
    path = server.root / "work/results.ipynb"
    path.parent.mkdir(exist_ok=True)
    kernel = {"name": "python3", "display_name": "Python 3"}
    cells = [
        new_markdown_cell("# Results\n\n<img src=x onerror=\"document.title='taken over'\">"),
        new_code_cell(TABLE, id="table"),
        new_code_cell("best = 'é'", id="best"),
    ]
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return path


def open_as_owner(browser: Browser, server: NotebookServer) -> Page:
    page = open_notebook(log_in(browser, server), server, ADDRESS)
    # Until then the last cell may be another one.
    expect(page.locator(".jp-CodeCell .cm-content").last).to_contain_text("best = ")
    return page


def read(browser: Browser, server: NotebookServer, path: str) -> Page:
    page = log_in(browser, server).pages[0]
    page.goto(f"{server.host}/user/ada/portal/reading/{path}")
    # The first cell takes seconds on a busy machine.
    expect(page.locator(".reading-cell").first).to_be_visible(timeout=TIMEOUT_MS)
    return page


def wait_for_cursor(cell: Locator, before: str) -> None:
    def is_there() -> bool:
        found = cell.locator("pre .reading-cursor").evaluate(
            "mark => { const range = document.createRange();"
            " range.setStart(mark.closest('pre'), 0);"
            " range.setEndBefore(mark); return range.toString(); }"
        )
        assert found == before
        return True

    eventually(is_there, timeout_s=CURSOR_TIMEOUT_S)


def test_a_reader_sees_edits_outputs_and_cursors_as_they_come(
    browser: Browser, server: NotebookServer, notebook: Path
) -> None:
    reader = read(browser, server, "work/results.ipynb")
    state = reader.get_by_role("status")
    cells = reader.locator(".reading-cell")
    # Without a hub the server knows no name of its owner.
    expect(reader.get_by_text("The owner lets you read this notebook")).to_be_visible()
    # What nobody has open is read from its file; one that is not allowed would be refused.
    expect(state).to_have_text("Nobody has it open. This is the saved file.")
    expect(cells).to_have_count(3)

    owner = open_as_owner(browser, server)

    expect(state).to_have_text("Live")
    owner.locator(".jp-CodeCell .cm-content").first.click()
    owner.keyboard.press("Shift+Enter")
    expect(cells.nth(1).get_by_role("cell", name="0.97")).to_be_visible()
    owner.locator(".jp-CodeCell .cm-content").last.click()
    owner.keyboard.press("Control+End")
    owner.keyboard.type("  # read by grace")
    expect(cells.nth(2)).to_contain_text("# read by grace")
    wait_for_cursor(cells.nth(2), "best = 'é'  # read by grace")
    # Into what is there already, and before it.
    owner.keyboard.press("ArrowLeft")
    owner.keyboard.type("!")
    wait_for_cursor(cells.nth(2), "best = 'é'  # read by grac!")
    owner.keyboard.press("Control+Home")
    owner.keyboard.type("very_")
    wait_for_cursor(cells.nth(2), "very_")
    expect(reader.locator("[data-part=people]")).to_contain_text("Here: ")
    picture(reader, "reading")
    assert reader.title() == "work/results.ipynb"


@pytest.mark.parametrize(
    ("colours", "background"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(13, 17, 23)")]
)
def test_the_page_has_the_colours_of_the_readers_system_and_keeps_nobody_out(
    browser: Browser, server: NotebookServer, notebook: Path, colours: Any, background: str
) -> None:
    reader = read(browser, server, "work/results.ipynb")

    reader.emulate_media(color_scheme=colours)

    expect(reader.locator("body")).to_have_css("background-color", background)
    expect_accessible(reader)


def test_what_a_reader_sends_closes_the_page_and_changes_nothing(
    browser: Browser, server: NotebookServer, notebook: Path
) -> None:
    reader = read(browser, server, "work/results.ipynb")
    expect(reader.locator(".reading-cell")).to_have_count(3)
    before = notebook.read_bytes()
    code = reader.evaluate(
        """() => new Promise(done => {
          const socket = new WebSocket(
            location.href.replace('http', 'ws').replace('/reading/', '/reading-changes/'));
          socket.onopen = () => socket.send('{"cells": []}');
          socket.onclose = event => done(event.code);
        })"""
    )
    assert code == 1008
    assert notebook.read_bytes() == before


def test_a_notebook_that_goes_away_is_said_to_be_gone(
    browser: Browser, server: NotebookServer, notebook: Path
) -> None:
    reader = read(browser, server, "work/results.ipynb")
    expect(reader.locator(".reading-cell")).to_have_count(3)
    notebook.unlink()
    expect(reader.get_by_role("status")).to_contain_text("It was renamed or deleted.")


@pytest.mark.parametrize("deletes_in_jupyter", [True, False])
def test_a_notebook_that_goes_away_while_it_is_open_is_said_to_be_gone(
    browser: Browser, server: NotebookServer, notebook: Path, deletes_in_jupyter: bool
) -> None:
    reader = read(browser, server, "work/results.ipynb")
    state = reader.get_by_role("status")
    open_as_owner(browser, server)
    expect(state).to_have_text("Live")
    if deletes_in_jupyter:
        url = f"{server.host}/user/ada/api/contents/work/results.ipynb"
        assert server.http.delete(url, timeout=30).ok
    else:
        notebook.unlink()
    expect(state).to_contain_text("It was renamed or deleted.")


def test_a_link_of_a_colleague_in_place_of_a_notebook_shows_nothing_else(
    browser: Browser, server: NotebookServer, notebook: Path
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make another user's link")
    secret = server.root / "secret.ipynb"
    nbformat.write(new_notebook(cells=[new_markdown_cell("Secret of ada")]), secret)
    shared = server.root / "together"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "results.ipynb").write_bytes(notebook.read_bytes())
    guest = read(browser, server, "together/results.ipynb")
    expect(guest.locator(".reading-cell")).to_have_count(3)

    (shared / "new").symlink_to("../secret.ipynb")
    os.chown(shared / "new", NOBODY_ID, NOBODY_ID, follow_symlinks=False)
    (shared / "new").rename(shared / "results.ipynb")

    expect(guest.get_by_role("status")).to_contain_text("It was renamed or deleted.")
    expect(guest.get_by_text("Secret of ada")).to_have_count(0)


def test_the_share_button_is_not_there_without_a_hub(
    browser: Browser, server: NotebookServer, notebook: Path
) -> None:
    owner = open_as_owner(browser, server)
    expect(owner.locator(".jp-Toolbar-item[data-jp-item-name=share] button")).to_be_hidden()


def test_a_session_ends_at_once_with_pages_open(
    browser: Browser, tmp_path: Path, tensorboard_python: Path
) -> None:
    server = start_server(tmp_path, tensorboard_python)
    try:
        write_notebook(server)
        reader = read(browser, server, "work/results.ipynb")
        owner = open_as_owner(browser, server)
        expect(reader.get_by_role("status")).to_have_text("Live")
        owner.locator(".jp-CodeCell .cm-content").last.click()
        owner.keyboard.press("Control+End")
        owner.keyboard.type("  # more")
        expect(reader.locator(".reading-cell").nth(2)).to_contain_text("# more")
        server.process.terminate()
        server.process.wait(timeout=END_TIMEOUT_S)
    finally:
        for window in browser.contexts:
            window.close()
        server.kill()
