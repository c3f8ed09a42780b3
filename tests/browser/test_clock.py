"""The session's clock, meter and end, as its user sees them; in the order of these tests."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.conftest import picture
from tests.support import parts
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, demo_password, sessions_of
from tests.support.put_back import kept, put_back

pytestmark = pytest.mark.cluster

USER = "ada"
NOTEBOOK = "clock test.ipynb"
SETTINGS = Path("/etc/data-scientist-portal/portal.toml")
DSPORTAL = "/opt/data-scientist-portal/environments/hub/bin/dsportal"
IDLE = "\n[idle]\nafter_minutes = 0.3\nwarning_minutes = 0.2\n[meter]\ninterval_s = 1\n"
UNOPENED = IDLE.replace("0.3", "600\nunopened_minutes = 0.2")
CLOCK = "#data-scientist-portal-clock"
METER = "#data-scientist-portal-meter"


@pytest.fixture(scope="module")
def client() -> Iterator[PortalClient]:
    client = PortalClient(USER)
    client.login()
    yield client
    client.stop(client.token())


@contextmanager
def signed_in(chromium: Browser) -> Iterator[BrowserContext]:
    """Open a browser in which the user is signed in."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(30_000)
    page = context.new_page()
    page.goto(ADDRESS)
    sign_in(page)
    expect(page).to_have_url(re.compile("/hub/home"))
    page.close()
    yield context
    context.close()


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    with signed_in(chromium) as context:
        yield context


def sign_in(page: Page) -> None:
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()


@pytest.fixture(scope="module")
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture(scope="module")
def session(client: PortalClient) -> Iterator[None]:
    with started(client, gpus=2):
        yield


@contextmanager
def started(client: PortalClient, **options: object) -> Iterator[None]:
    token = client.token()
    client.stop(token)
    client.start(token, **options)
    yield
    client.stop(client.token())


def notebook_path() -> Path:
    return Path(f"/home/{USER}") / NOTEBOOK


def make_notebook() -> None:
    path = notebook_path()
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": "", "id": "a"}
    text = json.dumps(
        {
            "cells": [cell | {"execution_count": None}],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    path.write_text(text)
    subprocess.run(["chown", f"{USER}:", str(path)], check=True)


def open_notebook(page: Page) -> Locator:
    page.goto(f"{ADDRESS}/user/{USER}/lab/tree/{NOTEBOOK}?reset")
    cell = page.locator(".jp-Notebook .jp-CodeCell .cm-content").first
    expect(cell).to_be_visible(timeout=60_000)
    return cell


def limit_session(minutes: int) -> None:
    (job,) = sessions_of(USER)
    change = ["scontrol", "update", f"JobId={job.job_id}", f"TimeLimit={minutes}"]
    subprocess.run(change, check=True)


def elapsed_minutes() -> int:
    (job,) = sessions_of(USER)
    argv = ["squeue", "-h", "-j", str(job.job_id), "-O", "TimeUsed"]
    text = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
    return int(text.split(":")[-2])


@contextmanager
def partition_of_minutes(minutes: int) -> Iterator[None]:
    change = ["scontrol", "update", "PartitionName=jupyter"]
    with put_back([*change, "MaxTime=1-00:00:00"]):
        subprocess.run([*change, f"MaxTime={minutes}"], check=True)
        yield


@pytest.mark.usefixtures("session")
def test_1_jupyterlab_shows_the_time_left_and_the_use_of_the_session(page: Page) -> None:
    page.goto(f"{ADDRESS}/user/{USER}/lab?reset")

    expect(page.locator(CLOCK)).to_have_text(re.compile(r"^7 h 5\d min left$"), timeout=60_000)
    expect(page.locator(METER)).to_contain_text("2 simulated GPUs")
    # 96 GB, or all that this machine has where control groups tell.
    expect(page.locator(METER)).to_contain_text(re.compile(r"Memory \d+\.\d of \d+\.\d GB"))
    page.locator(METER).click()
    panel = page.locator("#data-scientist-portal-meter-panel")
    expect(panel).to_contain_text("2 simulated GPUs: Slurm allocates them")
    # CPU, memory, storage, network.
    expect(panel.get_by_role("img")).to_have_count(4)
    expect(panel).to_contain_text(re.compile(r"CPU of \d+ cores?"))
    panel.get_by_role("button", name="Show since the start").click()
    since_start = re.compile(r"CPU of \d+ cores? since the start")
    expect(panel.get_by_role("img", name=since_start)).to_be_visible()
    picture(page, "clock-1-lab")


@pytest.mark.usefixtures("session")
def test_2_notebook_shows_the_same(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{ADDRESS}/user/{USER}/tree")

    expect(page.locator(CLOCK)).to_contain_text("min left", timeout=60_000)
    page.locator(METER).click()
    panel = page.locator("#data-scientist-portal-meter-panel")
    expect(panel).to_contain_text("2 simulated GPUs: Slurm allocates them")
    picture(page, "clock-2-notebook")
    page.close()


@pytest.mark.usefixtures("session")
def test_3_extending_moves_the_clock_and_the_limit_of_the_job(page: Page) -> None:
    page.keyboard.press("Control+Shift+C")
    page.locator(".lm-CommandPalette").get_by_text("Extend Session…").click()
    picture(page, "clock-3-extend")

    page.get_by_role("button", name="Extend by 2 hours").click()

    expect(page.locator(CLOCK)).to_have_text(re.compile(r"^9 h 5\d min left$"))
    (job,) = sessions_of(USER)
    assert job.walltime == "10:00:00"


@pytest.mark.usefixtures("session")
def test_3_somebody_who_was_signed_out_signs_in_and_the_request_is_repeated(
    page: Page, context: BrowserContext
) -> None:
    other = context.new_page()
    other.goto(f"{ADDRESS}/hub/logout")
    other.close()
    dialog = page.locator(".jp-Dialog").filter(has_text="You are signed out")
    expect(dialog).to_be_visible(timeout=45_000)
    dialog.get_by_role("button", name="Not now").click()
    page.locator(CLOCK).click()
    page.get_by_role("button", name="Extend by 2 hours").click()
    expect(dialog).to_be_visible()
    picture(page, "clock-3-signed-out")

    with context.expect_page() as opened:
        dialog.get_by_role("button", name="Sign in").click()
    sign_in(opened.value)
    opened.value.wait_for_url(re.compile(f"/user/{USER}/"))

    expect(page.locator(CLOCK)).to_have_text(re.compile(r"^11 h 5\d min left$"))
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    # Without waiting: once Chromium never said that the tab was closed.
    opened.value.close(run_before_unload=True)


@pytest.mark.usefixtures("session")
def test_3_a_session_that_an_administrator_suspends_says_so_until_it_is_resumed(
    page: Page,
) -> None:
    # Long before the first warning, but near enough to ask the hub for its end every 15 s.
    limit_session(elapsed_minutes() + 38)
    (job,) = sessions_of(USER)
    said = page.locator(".Toastify").get_by_text(re.compile("An administrator has suspended this"))
    subprocess.run(["scontrol", "suspend", str(job.job_id)], check=True)
    try:
        expect(said.first).to_be_visible(timeout=30_000)
        picture(page, "clock-3-suspended")
    finally:
        subprocess.run(["scontrol", "resume", str(job.job_id)], check=True)

    expect(said).to_have_count(0, timeout=90_000)


@pytest.mark.usefixtures("session")
def test_4_near_the_end_every_tab_warns_and_open_notebooks_are_saved(
    page: Page, context: BrowserContext
) -> None:
    make_notebook()
    other = context.new_page()
    other.goto(f"{ADDRESS}/user/{USER}/tree")
    expect(other.locator(CLOCK)).to_be_visible(timeout=60_000)
    cell = open_notebook(page)
    cell.click()
    page.keyboard.type("answer = 6 * 7")
    # The session hears of this limit when it asks the hub next, and warns at once.
    limit_session(elapsed_minutes() + 5)

    for tab in (page, other):
        warning = tab.locator(".Toastify").get_by_text(re.compile("This session ends in [345]"))
        expect(warning.first).to_be_visible(timeout=110_000)
        expect(tab.locator(CLOCK)).to_have_attribute("data-tone", "warn")
    # It counts down.
    said = page.locator(".Toastify").get_by_text(re.compile("This session ends in")).first
    before = said.inner_text()
    expect(said).not_to_have_text(before)
    eventually(lambda: "answer = 6 * 7" in notebook_path().read_text(), timeout_s=15)
    picture(page, "clock-4-warning")
    other.close()


@pytest.mark.usefixtures("session")
def test_5_a_file_that_cannot_be_saved_is_named_when_slurm_warns(page: Page) -> None:
    notebook_path().chmod(0o400)
    notebook_path().parent.chmod(0o500)
    try:
        page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
        page.keyboard.type(" + 0")
        (job,) = sessions_of(USER)
        subprocess.run(["scancel", "--batch", "--signal=USR1", str(job.job_id)], check=True)
        said = page.locator(".Toastify").get_by_text(re.compile(f"Not saved: {NOTEBOOK}"))
        expect(said.first).to_be_visible(timeout=45_000)
    finally:
        notebook_path().parent.chmod(0o700)
        notebook_path().chmod(0o600)
    picture(page, "clock-5-not-saved")
    if page.locator(".jp-Dialog").count():
        page.locator(".jp-Dialog").get_by_role("button").last.click()


@pytest.mark.release
@pytest.mark.usefixtures("session")
def test_5_a_maintenance_is_announced_in_open_sessions_while_it_lasts(page: Page) -> None:
    announced = page.locator(".Toastify").get_by_text(re.compile("New disks until noon"))
    with put_back((DSPORTAL, "undrain")):
        subprocess.run(
            [DSPORTAL, "drain", "--yes", "--message", "New disks until noon."], check=True
        )
        # Near its end a session asks the hub every 15 s, else every minute.
        expect(announced.first).to_be_visible(timeout=45_000)
        picture(page, "clock-5-announced")
    expect(announced).to_have_count(0, timeout=45_000)


@pytest.mark.usefixtures("session")
def test_6_a_refusal_says_why_and_leads_to_a_new_session_with_the_same_notebook(
    page: Page,
) -> None:
    with partition_of_minutes(6):
        # The catalog is some seconds old at most.
        page.wait_for_timeout(6_000)
        page.locator(CLOCK).click()
        page.locator(".jp-Dialog").get_by_role("button", name="Extend by 2 hours").click()
        dialog = page.locator(".jp-Dialog")
        expect(dialog).to_contain_text("The session was not extended")
        expect(dialog).to_contain_text("The partition jupyter allows 6 minutes in all")
        picture(page, "clock-6-refused")
    dialog.get_by_role("button", name="Save and start a new session").click()

    expect(page).to_have_url(re.compile("/hub/spawn"), timeout=60_000)
    assert NOTEBOOK in unquote(unquote(page.url))
    expect(page.locator("input[name=gpus][value='2']")).to_be_checked(timeout=30_000)
    page.get_by_role("button", name=re.compile("^Start")).click()
    page.wait_for_url(re.compile(f"/user/{USER}/lab"), timeout=90_000)
    expect(page.locator(".jp-Notebook").first).to_be_visible(timeout=60_000)
    expect(page.locator(".jp-Notebook")).to_contain_text("answer = 6 * 7")


@pytest.fixture
def idle_policy(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the portal give idle sessions back after some seconds, by the rule that a test names."""
    with kept(SETTINGS):
        parts.stop("hub")
        SETTINGS.write_text(SETTINGS.read_text() + request.param)
        parts.start("hub")
        yield
        parts.stop("hub")
    parts.start("hub")


@pytest.mark.release
@pytest.mark.usefixtures("idle_policy")
@pytest.mark.parametrize("idle_policy", [IDLE], indirect=True, ids=[""])
def test_7_an_idle_session_is_given_back_but_a_computing_kernel_is_kept(
    page: Page, client: PortalClient
) -> None:
    make_notebook()
    client.login()
    with started(client, gpus=1):
        cell = open_notebook(page)
        expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle", timeout=60_000)
        cell.click()
        page.keyboard.type("import time; time.sleep(45); done = 1")
        page.keyboard.press("Shift+Enter")
        busy = page.locator(".jp-Notebook-ExecutionIndicator[data-status='busy']").first
        expect(busy).to_be_attached()
        # Twice as long as an idle session is left alone.
        page.wait_for_timeout(40_000)
        assert sessions_of(USER), "a session whose kernel computes goes on"

        warning = page.locator(".Toastify").get_by_text(re.compile("nobody has typed"))
        expect(warning.first).to_be_visible(timeout=60_000)
        expect(page.get_by_role("button", name="Keep the session")).to_be_visible()
        picture(page, "clock-7-idle")
        eventually(lambda: not sessions_of(USER), timeout_s=60)
        told = page.locator(".Toastify").get_by_text(
            re.compile("This session was stopped because it was idle")
        )
        expect(told.first).to_be_visible(timeout=30_000)
        assert "done = 1" in notebook_path().read_text()
        picture(page, "clock-7-given-back")
        page.goto(f"{ADDRESS}/hub/home")
        expect(page.locator("main")).to_contain_text(
            "The last session has ended: The session was stopped because it was idle"
        )


@pytest.mark.release
@pytest.mark.usefixtures("idle_policy")
@pytest.mark.parametrize("idle_policy", [UNOPENED], indirect=True, ids=[""])
def test_8_a_session_that_nobody_opens_gives_its_gpus_back_and_says_so(
    page: Page, client: PortalClient
) -> None:
    client.login()
    with started(client, gpus=1):
        eventually(lambda: not sessions_of(USER), timeout_s=90)
        page.goto(f"{ADDRESS}/hub/home")
        expect(page.locator("main")).to_contain_text(
            "The last session has ended: The session was stopped because it was idle"
        )
        picture(page, "clock-8-unopened")
