"""A session that has to wait, on a full cluster: what its page says, and how it starts or fails."""

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from deploy.one_machine.supervisor import pid_of
from dsportal.diagnosis import Situation, explain_end, explain_waiting
from dsportal.slurm.states import JobState
from tests.browser.axe import expect_accessible
from tests.browser.conftest import picture, pictures
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, demo_password, sessions_of
from tests.support.put_back import kept

pytestmark = pytest.mark.cluster

USER = "ada"
OTHER = "grace"
N_NODES = 2
# Slurm looks at the queue every 5 s; the page hears of it within some more.
NEWS_TIMEOUT_MS = 40_000
START_TIMEOUT_MS = 90_000

BROKEN_SERVER = """\
#!/bin/sh
echo 'Reading the settings of the session.'
echo 'The server is broken; token=0123456789abcdef'
sleep 2
exit 3
"""

WAITS_FOR_OTHERS = "|".join(
    re.escape(explain_waiting(reason).sentence) for reason in ("Resources", "Priority")
)
CANCELLED_BY_USER = explain_end(
    JobState.CANCELLED, cancelled_by_uid=1, situation=Situation(user_uid=1)
).sentence
# Keeps what the page would have shown, also when it goes on to another page.
RECORD_NOTIFICATIONS = """
    window.Notification = class extends EventTarget {
        static get permission() { return "granted"; }
        constructor(headline) {
            super();
            const told = JSON.parse(localStorage.getItem("told") ?? "[]");
            localStorage.setItem("told", JSON.stringify([...told, [headline, document.title]]));
        }
    };
"""


def run_as(user: str, *argv: str) -> str:
    return subprocess.run(
        ["runuser", "-u", user, "--", *argv],
        cwd=f"/home/{user}",
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    ).stdout


def submit(user: str, n_gpus: int) -> int:
    """Submit a job that holds GPUs of one node for ten minutes."""
    options = ("--parsable", "--nodes=1", f"--gpus-per-node={n_gpus}", "--time=10")
    return int(run_as(user, "sbatch", *options, "--output=/dev/null", "--wrap=exec sleep 600"))


def states_of(user: str) -> list[str]:
    return run_as(user, "squeue", "-h", "-u", user, "-o", "%T").split()


@pytest.fixture
def full_cluster() -> Iterator[list[int]]:
    """Yield the jobs of somebody else who holds every GPU."""
    jobs = [submit(OTHER, 4) for _ in range(N_NODES)]
    eventually(lambda: states_of(OTHER).count("RUNNING") == N_NODES, timeout_s=30)
    yield jobs
    subprocess.run(["scancel", "-u", OTHER], check=True, timeout=30)
    eventually(lambda: not states_of(OTHER), timeout_s=30)


@pytest.fixture(scope="module")
def client() -> PortalClient:
    client = PortalClient(USER)
    client.login()
    return client


@pytest.fixture(autouse=True)
def no_session(client: PortalClient) -> Iterator[None]:
    token = client.token()
    client.stop(token)
    yield
    client.stop(token)


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """Yield a browser in which notifications are allowed for the portal."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    context.grant_permissions(["notifications"], origin=ADDRESS)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return log_in(context)


def log_in(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto(f"{ADDRESS}/hub/login")
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile("/hub/home"))
    return page


def start(page: Page) -> None:
    """Ask for one GPU and be on the waiting page."""
    page.goto(f"{ADDRESS}/hub/spawn/{USER}")
    page.locator("input[name=gpus][value='1']").check(force=True)
    page.get_by_role("button", name=re.compile("^Start")).click()
    page.wait_for_url(re.compile("/hub/spawn-pending/"))


def step(name: str) -> str:
    return f".portal-step[data-step={name}]"


def fact(page: Page, name: str) -> str:
    facts = page.locator("#waiting-facts > div")
    return facts.filter(has=page.locator("dt", has_text=name)).locator("dd").inner_text()


def expect_queued(page: Page) -> None:
    queued = page.locator(step("queued"))
    expect(queued).to_have_attribute("data-state", "now", timeout=NEWS_TIMEOUT_MS)


def test_a_session_says_why_and_where_it_waits_and_opens_when_a_gpu_is_free(
    page: Page, full_cluster: list[int]
) -> None:
    page.add_init_script(RECORD_NOTIFICATIONS)
    # Whoever has used less comes first by itself.
    first = f"JobId={submit(OTHER, 2)}"
    subprocess.run(["scontrol", "update", first, "Priority=1000000000"], check=True, timeout=30)
    start(page)
    expect_queued(page)
    expect(page.locator(step("queued"))).to_contain_text(
        re.compile(WAITS_FOR_OTHERS), timeout=NEWS_TIMEOUT_MS
    )
    expect(page.locator("#waiting-facts")).to_contain_text(
        "about 1 job before it", timeout=NEWS_TIMEOUT_MS
    )
    eventually(lambda: re.search(r"\d\d:\d\d", fact(page, "Expected start")), timeout_s=40)
    expect(page).to_have_title(re.compile("^In the queue"))
    expect_accessible(page)
    pictures(page, "waiting")

    for job_id in full_cluster:
        run_as(OTHER, "scancel", str(job_id))

    page.wait_for_url(re.compile(f"/user/{USER}/lab"), timeout=START_TIMEOUT_MS)
    ((headline, title),) = json.loads(page.evaluate("localStorage.getItem('told')"))
    assert headline == "Your session is ready"
    assert title.startswith("Your session is ready")


def log_of(page: Page) -> list[str]:
    lines = page.locator("#waiting-log li")
    expect(lines).not_to_have_count(0)
    if not page.locator("#waiting-log").is_visible():
        page.get_by_text("Log", exact=True).click()
    return lines.all_inner_texts()


@pytest.mark.release
def test_times_are_those_of_the_readers_time_zone(
    chromium: Browser, full_cluster: list[int]
) -> None:
    shown = {}
    for zone in ("UTC", "Asia/Kolkata"):
        context = chromium.new_context(timezone_id=zone)
        page = log_in(context)
        if not sessions_of(USER):
            start(page)
        page.goto(f"{ADDRESS}/hub/spawn-pending/{USER}")
        expect_queued(page)
        shown[zone] = fact(page, "Submitted")
        context.close()

    minutes = {zone: 60 * int(text[-5:-3]) + int(text[-2:]) for zone, text in shown.items()}
    assert (minutes["Asia/Kolkata"] - minutes["UTC"]) % (24 * 60) == 5 * 60 + 30


@pytest.mark.release
def test_the_page_says_that_slurm_is_silent_and_goes_on_when_it_answers(
    page: Page, full_cluster: list[int]
) -> None:
    start(page)
    expect_queued(page)
    (job,) = sessions_of(USER)
    slurmctld = pid_of("slurmctld")
    assert slurmctld is not None

    os.kill(slurmctld, signal.SIGSTOP)
    try:
        queued = page.locator(step("queued"))
        expect(queued).to_contain_text("Slurm is not responding", timeout=60_000)
        expect(page.locator("#waiting-facts")).to_contain_text(
            re.compile(r"last responded \d\d:\d\d")
        )
        expect_accessible(page)
        picture(page, "waiting-without-slurm")
    finally:
        os.kill(slurmctld, signal.SIGCONT)

    expect(queued).not_to_contain_text("not responding", timeout=60_000)
    expect(page.locator("#waiting-facts")).not_to_contain_text("last responded")
    assert "Slurm is not responding" in "\n".join(log_of(page)), "the log keeps it"
    assert [j.job_id for j in sessions_of(USER)] == [job.job_id]


def test_a_job_that_is_cancelled_has_a_failure_page_that_starts_the_same_again(
    page: Page, full_cluster: list[int]
) -> None:
    page.add_init_script(RECORD_NOTIFICATIONS)
    start(page)
    expect_queued(page)
    (job,) = sessions_of(USER)

    run_as(USER, "scancel", str(job.job_id))

    expect(page.locator("h1")).to_have_text("Your session did not start", timeout=NEWS_TIMEOUT_MS)
    expect(page.get_by_role("alert")).to_contain_text(CANCELLED_BY_USER)
    expect(page.locator("main")).to_contain_text("CANCELLED")
    expect(page.locator("main")).to_contain_text(str(job.job_id))
    told = json.loads(page.evaluate("localStorage.getItem('told')"))
    assert told[0][0] == "Your session did not start"
    expect_accessible(page)
    picture(page, "failure")

    page.reload()
    expect(page.get_by_role("alert")).to_contain_text(CANCELLED_BY_USER)
    page.get_by_role("button", name="Try again with the same choice").click()

    page.wait_for_url(re.compile("/hub/spawn-pending/"))
    (again,) = eventually(lambda: sessions_of(USER), timeout_s=20)
    assert again.job_id > job.job_id
    assert again.gres == job.gres


def test_a_job_that_dies_at_its_start_shows_the_end_of_its_log(
    page: Page, broken_server: None
) -> None:
    start(page)

    expect(page.locator("h1")).to_have_text("Your session did not start", timeout=START_TIMEOUT_MS)
    expect(page.get_by_role("alert")).to_contain_text("exit code 3")
    lines = page.locator(".portal-lines")
    expect(lines).to_contain_text("The server is broken")
    expect(lines).to_contain_text("[removed]")
    expect(lines).not_to_contain_text("0123456789abcdef")
    expect_accessible(page)
    picture(page, "failure-with-log")


@pytest.mark.release
def test_a_session_that_an_administrator_ended_says_so_in_its_tab_and_at_home(
    page: Page,
) -> None:
    start(page)
    page.wait_for_url(re.compile(f"/user/{USER}/lab"), timeout=START_TIMEOUT_MS)
    (job,) = sessions_of(USER)

    # Another panel may be in front of the files.
    expect(page.locator(".jp-DirListing-item").first).to_be_attached(timeout=START_TIMEOUT_MS)
    expect(page.locator("#jp-main-statusbar")).to_contain_text("left", timeout=NEWS_TIMEOUT_MS)
    notebook = page.context.new_page()
    notebook.goto(f"{ADDRESS}/user/{USER}/tree")
    expect(notebook.locator("#data-scientist-portal-clock")).to_contain_text("left")
    # Any dialog that JupyterLab has open, such as an error of a request that found no session.
    page.get_by_role("menuitem", name="Help", exact=True).click()
    page.locator(".lm-Menu").get_by_text("About JupyterLab").click()
    expect(page.locator(".jp-Dialog")).to_be_visible()
    subprocess.run(["scancel", str(job.job_id)], check=True, timeout=30)

    question = page.get_by_role("dialog").filter(has_text="This session has ended")
    expect(question).to_be_visible(timeout=NEWS_TIMEOUT_MS)
    picture(page, "session-ended-tab")
    expect(page.locator("#data-scientist-portal-clock")).to_have_text("Session ended")
    expect(page.locator("#data-scientist-portal-meter")).to_be_hidden()
    told = notebook.get_by_role("dialog").filter(has_text="This session has ended")
    expect(told).to_be_visible(timeout=NEWS_TIMEOUT_MS)
    expect(notebook.locator("#data-scientist-portal-clock")).to_have_text("Session ended")
    notebook.close()
    with page.context.expect_page() as opened:
        question.get_by_role("button", name="Start a session").click()
    expect(opened.value.locator("h1")).to_have_text("Your session has ended")
    opened.value.close()

    page.goto(f"{ADDRESS}/hub/home")
    session = page.get_by_role("region", name="Your session")
    expect(session).to_contain_text(
        explain_end(JobState.CANCELLED, cancelled_by_uid=0).sentence, timeout=NEWS_TIMEOUT_MS
    )
    expect_accessible(page)
    session.get_by_role("link", name="What to do").click()
    expect(page.locator("h1")).to_have_text("Your session has ended")
    expect(page.get_by_role("alert")).to_contain_text("Ask the administrators why")
    expect(page.locator("main")).to_contain_text(str(job.job_id))
    expect_accessible(page)
    picture(page, "session-ended")
    page.get_by_text("The end of the job's log").click()
    expect(page.locator(".portal-lines")).to_contain_text("CANCELLED")

    page.get_by_role("button", name="Start again with the same choice").click()

    page.wait_for_url(re.compile("/hub/spawn-pending/"))
    (again,) = eventually(lambda: sessions_of(USER), timeout_s=20)
    assert again.gres == job.gres


@pytest.fixture
def broken_server() -> Iterator[None]:
    with server_that_breaks():
        yield


@contextlib.contextmanager
def server_that_breaks(script: str = BROKEN_SERVER) -> Iterator[None]:
    """Let sessions run a script in place of the notebook server.

    Args:
        script: Its text; the default ends after two seconds with exit code 3.
    """
    program = Path("/opt/data-scientist-portal/environments/server/bin/dsportal-singleuser")
    with kept(program):
        program.unlink()
        program.write_text(script)
        program.chmod(0o755)
        yield
