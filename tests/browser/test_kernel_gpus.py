"""GPUs of a kernel through the button of its notebook, on the real cluster."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import picture
from tests.support.portal_client import ADDRESS, PortalClient, demo_password

pytestmark = pytest.mark.cluster

USER = "grace"
TIMEOUT_MS = 60_000
CELL = """import os
runs = globals().get("runs", 0) + 1
print(os.environ.get("SLURM_JOB_NAME"), runs)"""
NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "where",
            "metadata": {},
            "outputs": [],
            "source": CELL,
        }
    ],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture(scope="module", autouse=True)
def session(context: BrowserContext) -> Iterator[None]:
    """A session without a GPU that has a notebook, and its user logged in."""
    client = PortalClient(USER)
    client.login()
    token = client.token()
    client.stop(token)
    client.start(token, gpus=0)
    page = context.new_page()
    page.goto(f"{ADDRESS}/hub/login?next=/hub/home")
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    path = f"{ADDRESS}/user/{USER}/api/contents/trains.ipynb"
    authorized = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    body = json.dumps({"type": "notebook", "content": NOTEBOOK})
    assert page.request.put(path, headers=authorized, data=body).ok
    page.close()
    yield
    context.request.delete(path, headers=authorized)
    client.stop(token)


def run_cell(page: Page) -> None:
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+Enter")


def test_a_kernel_gets_a_gpu_by_the_button_and_gives_it_back(page: Page) -> None:
    page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/gpus/tree/trains.ipynb?reset")
    output = page.locator(".jp-OutputArea-output").first
    expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle", timeout=TIMEOUT_MS)
    run_cell(page)
    expect(output).to_contain_text("1", timeout=TIMEOUT_MS)
    page.get_by_role("button", name="no GPU").click()
    dialog = page.get_by_role("dialog")
    numbers = dialog.get_by_label("GPUs").locator("visible=true")
    expect(numbers).to_have_value("1")
    dialog.get_by_label("Length").select_option("0.5")
    picture(page, "kernel-gpus")
    dialog.get_by_role("button", name="Start the kernel anew").click()

    held = page.get_by_role("button", name="1 simulated GPU, 2")
    expect(held).to_be_visible(timeout=TIMEOUT_MS)
    run_cell(page)
    expect(output).to_contain_text(re.compile(r"kernel-of-\d+ 2"), timeout=TIMEOUT_MS)
    picture(page, "kernel-gpus-held")

    held.click()
    page.get_by_role("dialog").get_by_role("button", name="Give the GPUs back").click()
    expect(page.get_by_role("button", name="no GPU")).to_be_visible(timeout=TIMEOUT_MS)
    run_cell(page)
    expect(output).to_contain_text("3", timeout=TIMEOUT_MS)
