"""Cells whose tab is reloaded or closed, and the list of runs, in a headless Chromium."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import BrowserContext, Page, Route, expect  # noqa: E402

from dsportal.task.folders import create_folder  # noqa: E402
from dsportal.task.plan import End, Plan  # noqa: E402
from tests.support.chromium import TIMEOUT_MS, picture  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.kernels import ask  # noqa: E402
from tests.support.notebook_server import NotebookServer  # noqa: E402

WAITING_CELL = """import pathlib, time
print("epoch 1")
while not pathlib.Path("go").exists():
    time.sleep(0.05)
print("epoch 2")
6 * 7"""

ABORTS = "import os; os.abort()"


@pytest.fixture
def notebook(server: NotebookServer) -> Iterator[Path]:
    """A notebook whose cell ends once there is a file `go` beside it."""
    path = server.root / "waits.ipynb"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    content = {
        "cells": [{**cell, "source": WAITING_CELL, "id": "waits"}],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(content))
    yield path
    (server.root / "go").unlink(missing_ok=True)
    for session in ask(server, "GET", "api/sessions"):
        ask(server, "DELETE", f"api/sessions/{session['id']}")


def open_notebook(context: BrowserContext, server: NotebookServer, address: str) -> Page:
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/{address}")
    expect(page.locator(".jp-CodeCell .cm-content").first).to_be_visible(timeout=TIMEOUT_MS)
    return page


def start_cell(page: Page) -> None:
    page.locator(".jp-CodeCell .cm-content").first.click()
    # A kernel that has not started yet would take the cell later, and the page could be gone.
    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible(
        timeout=TIMEOUT_MS
    )
    page.keyboard.press("Control+Enter")
    expect_output(page, "epoch 1")


def expect_output(page: Page, text: str) -> None:
    expect(page.locator(".jp-CodeCell .jp-OutputArea").first).to_contain_text(
        text, timeout=TIMEOUT_MS
    )


def expect_prompt(page: Page, text: str) -> None:
    prompt = page.locator(".jp-CodeCell .jp-InputPrompt").first
    expect(prompt).to_have_text(text, timeout=TIMEOUT_MS)


@pytest.mark.parametrize(
    "address",
    [
        "lab/workspaces/cells/tree/waits.ipynb?reset",
        pytest.param("notebooks/waits.ipynb", marks=pytest.mark.release),
    ],
)
def test_a_cell_goes_on_in_a_page_that_is_reloaded(
    context: BrowserContext, server: NotebookServer, notebook: Path, address: str
) -> None:
    page = open_notebook(context, server, address)
    start_cell(page)

    page.reload()

    expect_output(page, "epoch 1")
    expect_prompt(page, "[*]:")
    (server.root / "go").touch()
    expect_output(page, "epoch 2")
    expect_output(page, "42")
    expect_prompt(page, "[1]:")
    page.close(run_before_unload=False)


@pytest.mark.parametrize(
    "address",
    [
        "lab/workspaces/cells/tree/waits.ipynb?reset",
        pytest.param("notebooks/waits.ipynb", marks=pytest.mark.release),
    ],
)
def test_a_cell_that_is_run_while_its_kernel_starts_runs_once_it_is_there(
    context: BrowserContext, server: NotebookServer, notebook: Path, address: str
) -> None:
    page = context.new_page()
    held: list[Route] = []
    page.route(re.compile(r"/api/sessions\b"), lambda route: hold_start(route, held))
    page.goto(f"{server.host}/user/ada/{address}")
    page.locator(".jp-CodeCell .cm-content").first.click()
    while not held:
        page.wait_for_timeout(50)

    page.keyboard.press("Control+Enter")

    expect_prompt(page, "[*]:")
    held[0].continue_()
    expect_output(page, "epoch 1")
    (server.root / "go").touch()
    expect_prompt(page, "[1]:")
    page.close(run_before_unload=False)


def hold_start(route: Route, held: list[Route]) -> None:
    """Hold the request that starts the kernel; let others pass."""
    if route.request.method == "POST" and not held:
        held.append(route)
    else:
        route.continue_()


def test_a_cell_that_ended_without_a_page_shows_its_result_in_the_next_one(
    context: BrowserContext, server: NotebookServer, notebook: Path
) -> None:
    address = "lab/workspaces/cells/tree/waits.ipynb?reset"
    page = open_notebook(context, server, address)
    start_cell(page)
    page.close(run_before_unload=False)
    (session,) = ask(server, "GET", "api/sessions")
    kernel_id = session["kernel"]["id"]
    (server.root / "go").touch()

    def states() -> list[str]:
        path = f"portal/api/kernels/{kernel_id}/executions"
        return [each["state"] for each in ask(server, "GET", path)]

    eventually(lambda: states() == ["done"], timeout_s=30)
    page = open_notebook(context, server, address)

    expect_output(page, "epoch 2")
    expect_output(page, "42")
    expect_prompt(page, "[1]:")
    # Once the notebook has the output, the server forgets it.
    page.keyboard.press("Control+s")
    eventually(lambda: "epoch 2" in notebook.read_text(), timeout_s=30)
    eventually(lambda: states() == [], timeout_s=30)
    page.close(run_before_unload=False)


def test_output_that_was_cleared_and_saved_does_not_return(
    context: BrowserContext, server: NotebookServer, notebook: Path
) -> None:
    page = open_notebook(context, server, "lab/workspaces/cells/tree/waits.ipynb?reset")
    (server.root / "go").touch()
    start_cell(page)
    expect_prompt(page, "[1]:")
    page.get_by_role("menuitem", name="Edit", exact=True).click()
    page.locator(".lm-Menu").get_by_text("Clear Outputs of All Cells").click()
    expect_prompt(page, "[ ]:")
    page.keyboard.press("Control+s")
    (session,) = ask(server, "GET", "api/sessions")
    path = f"portal/api/kernels/{session['kernel']['id']}/executions"
    eventually(lambda: ask(server, "GET", path) == [], timeout_s=30)

    page.reload()

    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible(
        timeout=TIMEOUT_MS
    )
    expect_prompt(page, "[ ]:")
    page.close(run_before_unload=False)


def test_one_message_says_in_full_why_a_kernel_died_until_it_is_used_again(
    context: BrowserContext, server: NotebookServer, notebook: Path
) -> None:
    notebook.write_text(notebook.read_text().replace(json.dumps(WAITING_CELL), json.dumps(ABORTS)))
    page = open_notebook(context, server, "lab/workspaces/cells/tree/waits.ipynb?reset")
    page.locator(".jp-CodeCell .cm-content").first.click()
    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible(
        timeout=TIMEOUT_MS
    )
    page.keyboard.press("Control+Enter")

    notice = page.locator(".Toastify__toast").filter(has_text="waits.ipynb aborted (SIGABRT)")
    expect(notice).to_contain_text("its memory is lost.", timeout=TIMEOUT_MS)
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    picture(page, "kernel-died")

    page.locator(".jp-CodeCell .cm-content").first.fill("1")
    page.keyboard.press("Control+Enter")
    expect(notice).to_have_count(0, timeout=TIMEOUT_MS)
    page.close(run_before_unload=False)


def test_a_narrow_page_shows_one_document_and_leaves_wide_ones_as_they_were(
    context: BrowserContext, server: NotebookServer
) -> None:
    page = context.new_page()
    wide = page.viewport_size
    assert wide
    address = f"{server.host}/user/ada/lab/workspaces/narrow"
    files, tabs = page.locator("#filebrowser"), page.locator("#jp-main-dock-panel .lm-TabBar")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}?reset")
    expect(page.locator(".jp-LauncherCard").first).to_be_visible(timeout=TIMEOUT_MS)
    expect(files).to_be_hidden()
    expect(tabs).to_be_hidden()
    cards = page.locator(".jp-LauncherCard").evaluate_all(
        "cards => cards.slice(0, 2).map(card => card.getBoundingClientRect().top)"
    )
    assert cards[0] == cards[1], "two stand side by side"
    picture(page, "narrow")

    page.set_viewport_size(wide)
    page.goto(address)
    expect(files).to_be_visible(timeout=TIMEOUT_MS)
    expect(tabs).to_be_visible()
    page.close(run_before_unload=False)


def test_the_runs_of_a_user_are_listed_named_and_removed(
    context: BrowserContext, server: NotebookServer
) -> None:
    folder = create_folder("train_digits", datetime.now(), server.root / "portal-runs")
    folder.write_plan(
        Plan(
            n_ranks=2,
            cores_per_rank=1,
            simulated_gpus=True,
            working_dir=str(server.root),
            module_paths=(),
            n_results=1,
        )
    )
    folder.log_path(0).write_text("epoch 1\n<b>epoch 2</b>\n")
    folder.write_result(0, 0.9845)
    folder.write_end(End(status=0))
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.accept("with dropout"))
    page.goto(f"{server.host}/user/ada/lab/workspaces/runs?reset")

    page.locator('.jp-SideBar [data-id="data-scientist-portal-jobs"]').click()

    run = page.locator(f'[data-run="{folder.name}"]')
    expect(run).to_contain_text("train_digits")
    expect(run).to_contain_text("Result: 0.9845")
    run.get_by_role("button", name="Output of").click()
    expect(run.locator("pre")).to_contain_text("<b>epoch 2</b>")
    run.get_by_role("button", name="Name").click()
    expect(run).to_contain_text("with dropout")
    picture(page, "runs")
    run.get_by_role("button", name="Remove").click()
    expect(run).to_have_count(0)
    assert not folder.path.exists()
    page.close()
