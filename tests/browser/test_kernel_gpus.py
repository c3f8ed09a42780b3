"""GPUs of a kernel, and those of a session, given and given back by clicks on the real cluster."""

import json
import pwd
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from dsportal.start.follow_up import FOLDER
from tests.browser.conftest import picture
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, demo_password, sessions_of

pytestmark = pytest.mark.cluster

USER = "grace"
NOTEBOOKS = ("trains.ipynb", "notebook.ipynb", "first.ipynb", "second.ipynb")
# Reopened together.
OPEN = NOTEBOOKS[2:]
TIMEOUT_MS = 60_000
CELL = """import os
runs = globals().get("runs", 0) + 1
print(os.environ.get("SLURM_JOB_NAME"), runs)"""
# Where the last one runs if the kernel moves before it.
QUEUED = ("held = 7", "%gpu 1", CELL, "print('last', held)")


def notebook(*codes: str) -> str:
    """Return a notebook of these cells."""
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return json.dumps(
        {
            "type": "notebook",
            "content": {
                "cells": [{**cell, "id": f"c{n}", "source": code} for n, code in enumerate(codes)],
                "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
                "nbformat": 4,
                "nbformat_minor": 5,
            },
        }
    )


@pytest.fixture(scope="module", autouse=True)
def session(context: BrowserContext) -> Iterator[Callable[[int], None]]:
    """What starts a session with some GPUs that has notebooks; its user is logged in."""
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
    contents = f"{ADDRESS}/user/{USER}/api/contents"
    bodies = {f"{contents}/{name}": notebook(CELL) for name in NOTEBOOKS}
    bodies[f"{contents}/queued.ipynb"] = notebook(*QUEUED)
    authorized = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    for path, body in bodies.items():
        assert page.request.put(path, headers=authorized, data=body).ok
    page.close()

    def start(n_gpus: int) -> None:
        client.stop(token)
        client.start(token, gpus=n_gpus)

    yield start
    for path in bodies:
        context.request.delete(path, headers=authorized)
    client.stop(token)


def workspace(page: Page) -> str:
    """Return what JupyterLab will open again."""
    return page.request.get(f"{ADDRESS}/user/{USER}/lab/api/workspaces/default").text()


def run_cell(page: Page, code: str = "") -> Locator:
    """Run the first cell of the notebook that is shown, with other code, and return its output."""
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").locator("visible=true").first.click()
    if code:
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(code)
    page.keyboard.press("Control+Enter")
    return page.locator(".jp-OutputArea").locator("visible=true").first


def choose(page: Page, menu: str, item: str | re.Pattern[str]) -> None:
    page.get_by_role("menuitem", name=menu, exact=True).click()
    page.get_by_role("menuitem", name=item).click()


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


def test_cells_that_wait_behind_gpu_run_with_the_gpu(page: Page) -> None:
    page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/queued/tree/queued.ipynb?reset")
    expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle", timeout=TIMEOUT_MS)

    choose(page, "Run", re.compile("^Run All Cells"))

    cells = page.locator(".jp-CodeCell")
    there = re.compile(r"kernel-of-\d+ 1")
    expect(cells.nth(2).locator(".jp-OutputArea")).to_contain_text(there, timeout=TIMEOUT_MS)
    expect(cells.nth(3).locator(".jp-OutputArea")).to_have_text("last 7", timeout=TIMEOUT_MS)
    expect(page.locator(".jp-InputPrompt").filter(has_text="*")).to_have_count(0)
    choose(page, "Kernel", "Shut Down Kernel")


def test_notebook_interrupts_and_restarts_a_kernel_that_has_a_gpu(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{ADDRESS}/user/{USER}/notebooks/notebook.ipynb")
    expect(page.get_by_role("button", name="no GPU")).to_be_visible(timeout=TIMEOUT_MS)
    run_cell(page, "%gpu 1 --hours 0.5")
    held = page.get_by_role("button", name="1 simulated GPU, 2")
    expect(held).to_be_visible(timeout=TIMEOUT_MS)
    in_job = re.compile(r"kernel-of-\d+ 1")
    expect(run_cell(page, f"runs = 0\n{CELL}")).to_contain_text(in_job, timeout=TIMEOUT_MS)

    output = run_cell(page, "print('sleeps')\nimport time; time.sleep(200)")
    expect(output).to_contain_text("sleeps")
    choose(page, "Kernel", "Interrupt Kernel")
    expect(output).to_contain_text("KeyboardInterrupt")
    choose(page, "Kernel", "Restart Kernel…")
    page.get_by_role("dialog").get_by_role("button", name="Confirm Kernel Restart").click()
    # Variables of before are gone, and the job is the same.
    expect(run_cell(page, CELL)).to_contain_text(in_job, timeout=TIMEOUT_MS)
    expect(held).to_be_visible()
    page.close()


def test_a_session_gives_its_gpus_back_and_the_same_notebooks_go_on(
    context: BrowserContext, session: Callable[[int], None]
) -> None:
    # Those of a run before would come back.
    shutil.rmtree(Path(pwd.getpwnam(USER).pw_dir, FOLDER), ignore_errors=True)
    session(1)
    page = context.new_page()
    for name, query in zip(OPEN, ("?reset", ""), strict=True):
        page.goto(f"{ADDRESS}/user/{USER}/lab/tree/{name}{query}")
        expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle", timeout=TIMEOUT_MS)
        # JupyterLab writes a moment later down what is open.
        eventually(lambda name=name: f"notebook:{name}" in workspace(page), timeout_s=30)
    expect(run_cell(page)).to_contain_text("1")
    before = [job.job_id for job in sessions_of(USER)]

    page.get_by_role("button", name="1 simulated GPU of the session").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Give the GPUs of the session back…").click()
    dialog.get_by_role("button", name="Save and give the GPUs back").click()
    chosen = page.locator("input[name=gpus][value='0']")
    expect(chosen).to_be_checked(timeout=TIMEOUT_MS)
    assert sessions_of(USER) == []
    page.get_by_role("button", name=re.compile("^Start")).click()

    page.wait_for_url(re.compile(f"/user/{USER}/lab"), timeout=TIMEOUT_MS)
    for name in OPEN:
        expect(page.get_by_role("tab", name=name)).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle", timeout=TIMEOUT_MS)
    output = run_cell(page)
    expect(output).to_contain_text(
        "Variables of the session before that are back", timeout=TIMEOUT_MS
    )
    expect(output).to_contain_text(re.compile(r"\S+ 2"))
    picture(page, "kernel-gpus-followed")
    (job,) = sessions_of(USER)
    assert job.job_id not in before
    assert "gpu" not in job.gres
    page.close()
