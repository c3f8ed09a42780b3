"""A training in a session, as the list of jobs and runs shows and stops it."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import picture
from tests.browser.test_clock import signed_in, started
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient

pytestmark = pytest.mark.cluster

USER = "ada"
NOTEBOOK = Path(f"/home/{USER}/runs test.ipynb")
TRAINING = """import time
from dsportal import report, run
def train_long():
    for step in range(1, 6001):
        report(step=step, steps=6000, images=64, loss=1 / step)
        time.sleep(0.1)
run(train_long, gpus=2)"""
SWEEP = """import time
from dsportal import report, sweep

def train(lr, depth):
    for step in range(1, 101):
        loss = depth / (1 + lr * step)
        report(step=step, steps=100, loss=loss)
        time.sleep(0.1)
    return {"accuracy": round(1 - loss / 4, 3)}

sweep(train, {"lr": [0.1, 0.01], "depth": [2, 3]}, name="digits", at_once=2, hours=0.2)"""

CELLS = ("lr = 0.1", "from time import sleep\nsleep(15)", "1 / (lr - 0.5)")


@pytest.fixture(scope="module")
def client() -> Iterator[PortalClient]:
    client = PortalClient(USER)
    client.login()
    yield client
    client.stop(client.token())


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    with signed_in(chromium) as context:
        yield context


@contextmanager
def notebook(*sources: str) -> Iterator[None]:
    """Write the notebook of these tests; the first of several cells has its parameters."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**cell, "source": source, "id": f"cell-{n}"} for n, source in enumerate(sources)]
    if len(cells) > 1:
        cells[0]["metadata"] = {"tags": ["parameters"]}
    content = {
        "cells": cells,
        "metadata": {"kernelspec": {"name": "pytorch", "display_name": "PyTorch"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    NOTEBOOK.write_text(json.dumps(content))
    subprocess.run(["chown", f"{USER}:", str(NOTEBOOK)], check=True)
    try:
        yield
    finally:
        for path in NOTEBOOK.parent.glob(f"{NOTEBOOK.stem}*"):
            path.unlink()


def open_notebook(page: Page) -> None:
    page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/runs/tree/{NOTEBOOK.name}?reset")


def run_cell(page: Page) -> None:
    """Open the notebook and run its cell."""
    open_notebook(page)
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator(".jp-CodeCell .cm-content").first.click(timeout=60_000)
    idle = page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")
    expect(idle).to_be_visible(timeout=60_000)
    page.keyboard.press("Control+Enter")


@pytest.fixture
def no_sweep() -> Iterator[None]:
    yield
    for folder in Path(f"/home/{USER}/portal-runs/sweeps").glob("digits*"):
        shutil.rmtree(folder)


def test_a_sweep_is_followed_in_its_cell(client: PortalClient, page: Page, no_sweep: None) -> None:
    with notebook(SWEEP), started(client, gpus=0):
        run_cell(page)
        output = page.locator(".jp-CodeCell .jp-OutputArea").first
        expect(output).to_contain_text("4 points as job", timeout=60_000)
        # The first two have ended, and the others run.
        expect(output).to_contain_text("2 done, 2 running", timeout=120_000)
        expect(output).to_contain_text("best so far")
        picture(page.locator(".jp-CodeCell").first, "sweep")
        expect(output).to_contain_text("4 done", timeout=120_000)


def test_a_notebook_is_a_job_whose_cells_are_counted_and_whose_failed_cell_is_named(
    client: PortalClient, page: Page
) -> None:
    with notebook(*CELLS), started(client, gpus=0):
        open_notebook(page)
        bar = page.locator(".jp-NotebookPanel-toolbar")
        bar.get_by_title("Run the notebook to its end as a Slurm job").click(timeout=60_000)
        form = page.locator(".dsp-form")
        form.get_by_label("GPUs", exact=True).fill("1")
        form.get_by_label("Hours", exact=True).fill("0.2")
        form.get_by_label("lr", exact=True).fill("0.5")
        expect(form.get_by_role("status")).to_contain_text("Slurm's forecast: ", timeout=60_000)
        picture(page, "job-form")
        page.get_by_role("button", name="Run as a Job").click()
        expect(page.get_by_text(f"{NOTEBOOK.name} is queued as job").first).to_be_visible()

        page.locator('.jp-SideBar [data-id="data-scientist-portal-jobs"]').click()
        run = page.locator("[data-run]").first
        expect(run).to_contain_text("2 of 4 cells have run (50%)", timeout=60_000)
        picture(page, "job-cells")
        expect(run.locator(".chip")).to_have_text("failed", timeout=60_000)
        expect(run).to_contain_text("Cell 4, '1 / (lr - 0.5)': ZeroDivisionError")
        run.get_by_role("button", name="Output").click()
        expect(run).to_contain_text("[4/4] 1 / (lr - 0.5)")
        picture(page, "job-failed")

        run.get_by_role("button", name="again").click()
        expect(form.get_by_label("lr", exact=True)).to_have_value("0.5")
        page.keyboard.press("Escape")


def test_a_training_is_seen_and_stopped_in_the_list_of_runs(
    client: PortalClient, context: BrowserContext, page: Page
) -> None:
    with notebook(TRAINING), started(client, gpus=2):
        run_cell(page)
        page.locator('.jp-SideBar [data-id="data-scientist-portal-jobs"]').click()
        run = page.locator("[data-run]").first
        # Earlier runs, of other tests too, move down when it appears.
        expect(run.locator(".chip")).to_have_text("running", timeout=120_000)
        expect(run).to_contain_text("train_long")
        expect(run).to_contain_text(re.compile(r"Step \d+ of 6000"), timeout=60_000)
        expect(run).to_contain_text("images/s", timeout=60_000)
        picture(page, "runs")
        ask_before_stop(context)

        run.get_by_role("button", name="Stop").click()

        output = page.locator(".jp-CodeCell .jp-OutputArea").first
        expect(output).to_contain_text("StepError", timeout=60_000)
        expect(run.locator(".chip")).to_have_text("stopped", timeout=60_000)

        # JupyterLab saves it a moment after the last change.
        eventually(lambda: "data-scientist-portal-jobs" in saved_workspace(), timeout_s=20)
        page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/runs")
        expect(page.locator("[data-run]").first).to_be_visible(timeout=60_000)


def saved_workspace() -> str:
    folder = Path(f"/home/{USER}/.jupyter/lab/workspaces")
    return "".join(path.read_text() for path in folder.glob("runs-*"))


def ask_before_stop(context: BrowserContext) -> None:
    home = context.new_page()
    home.goto(f"{ADDRESS}/hub/home")
    with home.expect_event("dialog", timeout=20_000) as asked:
        home.get_by_role("button", name="Stop My Server").click()
    # The notebook has output that is not saved.
    assert asked.value.message == (
        f"Still computing: {NOTEBOOK.name}. Not saved: {NOTEBOOK.name}. "
        "Stop the session all the same?"
    )
    asked.value.dismiss()
    expect(home.get_by_role("button", name="Stop My Server")).to_be_enabled()
    home.close()
