"""A notebook of a session that may be shared, in two browsers at once."""

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import requests

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from nbformat.v4 import new_code_cell, new_notebook  # noqa: E402
from playwright.sync_api import Browser, Page, Route, expect  # noqa: E402

from tests.server.test_kernels_in_browser import (  # noqa: E402
    WAITING_CELL,
    expect_output,
    expect_prompt,
    open_notebook,
    start_cell,
)
from tests.server.test_reading_in_browser import start_server  # noqa: E402
from tests.support.chromium import log_in, picture  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.notebook_server import NotebookServer  # noqa: E402

ADDRESS = "lab/workspaces/together/tree/waits.ipynb?reset"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    server = start_server(tmp_path_factory.mktemp("together"), tensorboard_python)
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "api/collaboration/session/waits.ipynb"),
        ("GET", "api/collaboration/room/json:notebook:x"),
        ("GET", "api/collaboration/timeline/json:notebook:x"),
        ("PUT", "api/collaboration/undo_redo/json:notebook:x"),
        ("PUT", "api/collaboration/fork/json:notebook:x"),
        ("GET", "api/fileid/id?path=waits.ipynb"),
    ],
)
def test_a_stranger_is_refused(server: NotebookServer, method: str, path: str) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    headers = {**upgrade, "Sec-WebSocket-Key": "eA=="} if "room" in path else {}
    answer = requests.request(
        method,
        f"{server.host}/user/ada/{path}",
        headers=headers,
        json={},
        timeout=30,
        allow_redirects=False,
    )
    is_to_the_login = answer.headers.get("Location", "").startswith("/user/ada/login")
    assert answer.status_code in {403, 405} or is_to_the_login


def output_lines(page: Page) -> list[str]:
    area = page.locator(".jp-CodeCell .jp-OutputArea").first
    return [line for line in area.inner_text().splitlines() if line.startswith("epoch")]


def test_saving_asks_no_question_while_the_room_has_just_written_the_file(
    browser: Browser, server: NotebookServer
) -> None:
    path = server.root / "saved.ipynb"
    kernel = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(new_notebook(cells=[new_code_cell("1")], metadata={"kernelspec": kernel}), path)
    person = log_in(browser, server)
    page = open_notebook(person, server, "lab/workspaces/saved/tree/saved.ipynb?reset")

    asked = []

    def answer_with_another_hash(route: Route) -> None:
        asked.append(route.request.url)
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"hash": "of what the room wrote"})

    # As when the room has written the file, and the page has not heard of it yet.
    page.route("**/api/contents/saved.ipynb?*hash=1*", answer_with_another_hash)
    page.locator(".jp-CodeCell .cm-content").last.click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" + 41")
    # It makes a checkpoint once it has saved.
    with page.expect_request("**/saved.ipynb/checkpoints?*"):
        page.keyboard.press("Control+s")

    assert asked
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    eventually(lambda: "1 + 41" in path.read_text(), timeout_s=30)
    person.close()


@pytest.mark.release
def test_two_people_edit_a_notebook_and_its_output_survives_both_pages(
    browser: Browser, server: NotebookServer
) -> None:
    path = server.root / "waits.ipynb"
    kernel = {"name": "python3", "display_name": "Python 3"}
    cells = [new_code_cell(WAITING_CELL, id="waits"), new_code_cell("best = 0", id="next")]
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    first, second = log_in(browser, server), log_in(browser, server)
    owner = open_notebook(first, server, ADDRESS)
    # In Notebook, which shares the document with JupyterLab.
    colleague = open_notebook(second, server, "notebooks/waits.ipynb")
    start_cell(owner)
    expect_output(colleague, "epoch 1")

    # Both see what the other writes, and where.
    colleague.locator(".jp-CodeCell .cm-content").last.click()
    colleague.keyboard.press("Control+End")
    colleague.keyboard.type("  # seen by grace")
    expect(owner.locator(".jp-CodeCell .cm-content").last).to_contain_text("# seen by grace")
    expect(owner.locator(".cm-ySelectionCaret, .jp-remote-cursor").first).to_be_attached()
    picture(owner, "together")

    # The page that sent the cell goes, and the other one continues its output; then that goes, too.
    owner.close(run_before_unload=False)
    first.close()
    (server.root / "go").touch()
    expect_output(colleague, "epoch 2")
    expect_output(colleague, "42")
    eventually(lambda: output_lines(colleague) == ["epoch 1", "epoch 2"], timeout_s=30)
    eventually(lambda: "epoch 2" in path.read_text(), timeout_s=30)
    second.close()
    third = log_in(browser, server)
    again = open_notebook(third, server, ADDRESS)
    expect_output(again, "42")
    expect_prompt(again, "[1]:")
    assert output_lines(again) == ["epoch 1", "epoch 2"]
    third.close()
    left = [each.name for each in server.root.rglob("*") if "ystore" in each.name]
    assert not left, "the history of documents is in the session's private folder"
