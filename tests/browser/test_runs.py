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
def notebook(source: str) -> Iterator[None]:
    """Write the notebook of these tests, with one cell."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    content = {
        "cells": [{**cell, "source": source, "id": "trains"}],
        "metadata": {"kernelspec": {"name": "pytorch", "display_name": "PyTorch"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    NOTEBOOK.write_text(json.dumps(content))
    subprocess.run(["chown", f"{USER}:", str(NOTEBOOK)], check=True)
    try:
        yield
    finally:
        NOTEBOOK.unlink()


def run_cell(page: Page) -> None:
    """Open the notebook and run its cell."""
    page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/runs/tree/{NOTEBOOK.name}?reset")
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
