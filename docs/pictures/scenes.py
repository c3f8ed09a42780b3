"""What the guides show: each function brings the demo into a state and takes its pictures."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator

from playwright.sync_api import Page, expect

from docs.pictures.environments import take_environments
from docs.pictures.studio import (
    OTHER,
    START_TIMEOUT_MS,
    TIMEOUT_MS,
    USER,
    WIDE,
    Film,
    Studio,
    has_text,
)
from tests.browser import test_first_light as first_light
from tests.browser.test_clock import (
    CLOCK,
    METER,
    elapsed_minutes,
    limit_session,
    partition_of_minutes,
)
from tests.browser.test_tools import jobs_panel
from tests.browser.test_waiting import run_as, server_that_breaks
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, sessions_of

GPU_TYPES = ("a100", "v100")
# On the first node three of four GPUs, on the second all of them: one GPU is free, and others
# become free at two different times.
LOADS = (("a100", 3, 95), ("v100", 4, 40))
BROKEN_SERVER = """\
#!/bin/sh
echo 'Reading the settings of the session.'
echo 'ImportError: libssl.so.3: cannot open shared object file: No such file or directory' >&2
sleep 2
exit 1
"""
# Slurm tells the hub accounting's limits every five minutes, and at its start.
LIMIT = ("sacctmgr", "-i", "modify", "user", "where", f"name={USER}", "set")


@contextlib.contextmanager
def busy_cluster(*, is_full: bool = False) -> Iterator[None]:
    """Let another user hold GPUs.

    Args:
        is_full: All of them, with one more job in the queue.
    """
    loads = (("a100", 4, 95), ("v100", 4, 40), ("v100", 1, 60)) if is_full else LOADS
    for gpu_type, n_gpus, minutes in loads:
        options = ("--nodes=1", f"--gpus-per-node={gpu_type}:{n_gpus}", f"--time={minutes}")
        run_as(OTHER, "sbatch", "--parsable", *options, "--output=/dev/null", "--wrap=sleep 5700")
    squeue = ("squeue", "-h", "-u", OTHER, "-t", "R", "-o", "%T")
    eventually(lambda: len(run_as(OTHER, *squeue).split()) == len(GPU_TYPES), timeout_s=30)
    try:
        yield
    finally:
        subprocess.run(["scancel", "-u", OTHER], check=True, timeout=30)


@contextlib.contextmanager
def limit_of_gpus(n_gpus: int) -> Iterator[None]:
    """Let the demo user hold so many GPUs at once."""
    subprocess.run([*LIMIT, f"GrpTRES=gres/gpu={n_gpus}"], check=True)
    restart_hub()
    try:
        yield
    finally:
        subprocess.run([*LIMIT, "GrpTRES=gres/gpu=-1"], check=True)
        restart_hub()


def restart_hub() -> None:
    """Let the hub read accounting."""
    for command in ("deploy/down", "deploy/up"):
        subprocess.run([command, "--only", "hub"], check=True, stdout=subprocess.DEVNULL)


def take_entrance(studio: Studio) -> None:
    """Login, and the form: one choice starts now, others later, one is refused."""
    studio.take("login", "/hub/login", has_text("main", "Sign in"), logged_in=False)
    with limit_of_gpus(3), busy_cluster():
        # The first look after the hub's start has it ask accounting.
        with studio.look(logged_in=True) as page:
            page.goto(f"{ADDRESS}/hub/spawn/{USER}")
            page.wait_for_timeout(5_000)
        both = r"about \d\d:\d\d[\s\S]*The limit of"
        studio.take("options", f"/hub/spawn/{USER}", has_text("main", both))


def take_waiting(studio: Studio) -> None:
    """A session that waits, the cluster meanwhile, and one that failed."""
    waiting = f"/hub/spawn-pending/{USER}"
    with busy_cluster(is_full=True):
        studio.start()
        studio.take("progress", waiting, has_text("#waiting-facts", r"before it.*about \d\d:\d\d"))
        studio.take("cluster", "/hub/cluster", has_text("main", "GPU"))
    with server_that_breaks(BROKEN_SERVER):
        studio.start()
        studio.take("failure", waiting, has_text("h1", "Your session did not start"))


def take_home(studio: Studio) -> None:
    """The home page of a running session, who holds what, and a session that was ended."""
    studio.start()
    with studio.look(logged_in=True) as page:
        open_session(page)
    studio.take("control-panel", "/hub/home", has_text("#session-state", "Running"))
    administrator = studio.of(OTHER)
    administrator.take(
        "administrator", "/hub/administration", has_text("#sessions", USER), looks=[WIDE]
    )
    subprocess.run(["scancel", *(str(job.job_id) for job in sessions_of(USER))], check=True)
    with studio.look(logged_in=True) as page:
        page.goto(f"{ADDRESS}/hub/home")
        has_text("main", "The last session has ended")(page)
    studio.take("ended", f"/hub/spawn-pending/{USER}", has_text("h1", "has ended"), looks=[WIDE])


def take_landing(studio: Studio) -> None:
    """JupyterLab as it opens, and a search in its launcher."""
    studio.start(first_light.N_GPUS)
    with studio.look(logged_in=True) as page:
        open_session(page)
        studio.save(page, "landing")
        page.get_by_label("Search the launcher").fill("gpus")
        expect(page.locator(".jp-LauncherCard").get_by_text("Start here")).to_be_hidden()
        studio.save(page, "launcher")
    studio.stop()


def open_session(page: Page) -> None:
    """Go from the waiting page to JupyterLab and wait until it shows the user's folders."""
    page.goto(f"{ADDRESS}/hub/spawn-pending/{USER}")
    expect_lab(page)
    page.wait_for_load_state("networkidle")


def expect_lab(page: Page) -> None:
    """Wait until JupyterLab shows the user's folders."""
    page.wait_for_url(re.compile(f"/user/{USER}/lab"), timeout=START_TIMEOUT_MS)
    expect(first_light.file_in_browser(page, "templates")).to_be_visible(timeout=TIMEOUT_MS)


def take_session(studio: Studio) -> None:
    """The clock and the meter of a session, its warning, and an extension that is refused."""
    studio.start(first_light.N_GPUS)
    with studio.look(logged_in=True) as page:
        open_session(page)
        page.goto(f"{ADDRESS}/user/{USER}/lab/tree/templates/start-here.ipynb?reset")
        expect(page.locator(".jp-Notebook").first).to_be_visible(timeout=TIMEOUT_MS)
        expect(page.locator(CLOCK)).to_contain_text("left", timeout=TIMEOUT_MS)
        page.locator(METER).click()
        expect(page.get_by_role("heading", name="Start here")).to_be_visible()
        expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle", timeout=TIMEOUT_MS)
        panel = page.locator("#data-scientist-portal-meter-panel")
        expect(panel).to_contain_text(re.compile("Kernel of start-here"), timeout=TIMEOUT_MS)
        studio.save(page, "session-use")
        page.locator(METER).click()
        minutes = elapsed_minutes() + 10
        limit_session(minutes)
        warning = page.locator(".Toastify").get_by_text(re.compile("This session ends in"))
        expect(warning.first).to_be_visible(timeout=2 * TIMEOUT_MS)
        # It slides in.
        page.wait_for_timeout(1_000)
        studio.save(page, "session-warning")
        # Not a minute longer, or the extension is granted up to there.
        with partition_of_minutes(minutes):
            # The hub's copy of the partitions is some seconds old at most.
            page.wait_for_timeout(6_000)
            page.locator(CLOCK).click()
            question = page.locator(".jp-Dialog")
            question.get_by_role("button", name="Extend by 2 hours").click()
            expect(page.locator(".jp-Dialog")).to_contain_text("was not extended")
            studio.save(page, "session-refused")
    studio.stop()


def take_jobs(studio: Studio) -> None:
    """A job script before it is submitted, and the user's jobs."""
    studio.start(first_light.N_GPUS)
    with studio.look(logged_in=True) as page:
        open_session(page)
        page.goto(f"{ADDRESS}/user/{USER}/lab/tree/templates/slurm?reset")
        first_light.file_in_browser(page, "sample.job").click(button="right")
        page.locator(".lm-Menu").get_by_text("Submit as Slurm Job").click()
        panel = jobs_panel(page)
        expect(panel.locator("[data-part=forecast]")).to_contain_text("start", timeout=TIMEOUT_MS)
        studio.save(page, "job-preview")
        panel.get_by_role("button", name="Submit", exact=True).click()
        expect(panel.locator("[data-part=output] pre")).to_contain_text(
            "task 0 of", timeout=TIMEOUT_MS
        )
        # The list is read a moment before the output, and Slurm may still call the job waiting.
        (job_id,) = re.findall(r"\d+", panel.locator("[data-part=output-title]").inner_text())
        chip = panel.locator(f"[data-job='{job_id}'] .chip")
        expect(chip).to_have_text("Completed", timeout=TIMEOUT_MS)
        studio.save(page, "jobs")
    studio.stop()


def take_trainings(studio: Studio) -> None:
    """Two trainings and TensorBoard, as the browser tests drive them."""
    studio.start(first_light.N_GPUS)
    with studio.look(logged_in=True) as page:
        open_session(page)
        for name, folder in (("training", "tensorflow"), ("horovod", "horovod")):
            first_light.open_notebook(page, folder, "digits.ipynb")
            first_light.restart_and_run_all(page)
            first_light.expect_run_to_its_end(page)
            outputs = page.locator(".jp-Notebook .jp-OutputArea-output img")
            (outputs.last if outputs.count() else page.locator(".jp-CodeCell").last).hover()
            studio.save(page, name)
        take_tensorboard(studio, page)
    studio.stop()


def take_tensorboard(studio: Studio, page: Page) -> None:
    """The curves of the training before."""
    page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/test/tree/templates/tensorflow?reset")
    first_light.file_in_browser(page, "logs").click()
    with page.context.expect_page() as opened:
        button = page.locator(".jp-FileBrowser-toolbar").get_by_title(re.compile("TensorBoard"))
        button.first.click()
    tab = opened.value
    first_light.expect_curves(tab)
    tab.wait_for_load_state("networkidle")
    studio.save(tab, "tensorboard")


def take_film(studio: Studio) -> None:
    """From the login to a training on two GPUs."""
    with busy_cluster(), studio.look(scale=1) as page:
        film = Film(page)
        page.goto(f"{ADDRESS}/hub/login")
        film.show(1.5)
        studio.log_in(page)
        film.show(2)
        page.goto(f"{ADDRESS}/hub/spawn/{USER}")
        has_text("main", r"about \d\d:\d\d")(page)
        film.show(4)
    with studio.look(logged_in=True, scale=1) as page:
        film.turn_to(page)
        page.goto(f"{ADDRESS}/hub/spawn/{USER}")
        page.locator("input[name=gpus][value='2']").check(force=True)
        film.show(2.5)
        page.get_by_role("button", name=re.compile("^Start")).click()
        film.follow(lambda: f"/user/{USER}/lab" in page.url, timeout_s=60)
        expect_lab(page)
        film.show(3)
        first_light.open_notebook(page, "horovod", "digits.ipynb")
        film.show(2)
        first_light.restart_and_run_all(page)
        last = page.locator(".jp-Notebook .jp-CodeCell").last.locator(".jp-InputPrompt")
        shown = re.compile(r"\[\d+\]:")
        film.follow(lambda: bool(shown.search(last.inner_text())), timeout_s=300)
        film.show(4)
        film.save("film")
    studio.stop()


SCENES = {
    "entrance": take_entrance,
    "waiting": take_waiting,
    "home": take_home,
    "landing": take_landing,
    "session": take_session,
    "jobs": take_jobs,
    "environments": lambda studio: take_environments(studio, open_session),
    "trainings": take_trainings,
    "film": take_film,
}
