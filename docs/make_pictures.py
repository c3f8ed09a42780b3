"""Take the pictures of docs/images from the portal that runs on this machine.

Start the portal with deploy/up, then run this from the root of the repository with the tests' own
Python, as root, since it submits jobs as the demo users:

    /opt/data-scientist-portal/environments/test/bin/python docs/make_pictures.py [SCENE...]

Without a name it takes all scenes; two trainings are among them. Nobody else may use the
portal meanwhile: it stops the sessions of the demo users.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS_DIR = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS_DIR.parent))

from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

from tests.browser import test_first_light as first_light  # noqa: E402
from tests.browser.conftest import CHROMIUM, CHROMIUM_FLAGS  # noqa: E402
from tests.browser.test_waiting import run_as, server_that_breaks  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.portal_client import ADDRESS, PortalClient, demo_password, sessions_of  # noqa: E402

IMAGES_DIR = DOCS_DIR / "images"
USER, OTHER = "ada", "grace"
N_NODES, N_GPUS_OF_NODE = 2, 4
TIMEOUT_MS = 60_000
START_TIMEOUT_MS = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a page is looked at.

    Attributes:
        suffix: Put behind the picture's name.
        width: Of the window, pixels.
        height: Of the window, pixels; a phone's picture shows the whole page.
        colours: "light" or "dark".
    """

    suffix: str
    width: int
    height: int
    colours: Any = "light"


WIDE = Look(suffix="", width=1440, height=900)
DARK = Look(suffix="-dark", width=1440, height=900, colours="dark")
PHONE = Look(suffix="-360", width=360, height=740)
ALL_LOOKS = (WIDE, DARK, PHONE)


class Studio:
    """A browser, logged in as a demo user, and the cluster in front of it.

    Args:
        browser: A running Chromium.
        user: The demo user.
    """

    def __init__(self, browser: Browser, user: str = USER) -> None:
        self._browser = browser
        self._user = user
        self._client = PortalClient(user)
        self._client.login()
        self._token = self._client.token()
        with self.look() as page:
            page.goto(f"{ADDRESS}/hub/login")
            page.get_by_label("Username").fill(user)
            page.get_by_label("Password").fill(demo_password())
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(re.compile("/hub/home"))
            self._login = page.context.storage_state()

    def of(self, user: str) -> Studio:
        """Return the studio of another demo user, in the same browser."""
        return Studio(self._browser, user)

    @contextlib.contextmanager
    def look(self, look: Look = WIDE, *, logged_in: bool = False) -> Iterator[Page]:
        """Open a window.

        Args:
            look: Its size and colours.
            logged_in: Whether the demo user is logged in.

        Yields:
            An empty page.
        """
        context = self._browser.new_context(
            viewport={"width": look.width, "height": look.height},
            color_scheme=look.colours,
            reduced_motion="reduce",
            storage_state=self._login if logged_in else None,
        )
        context.set_default_timeout(TIMEOUT_MS)
        yield context.new_page()
        context.close()

    def take(
        self,
        name: str,
        path: str,
        settle: Callable[[Page], object],
        *,
        looks: Sequence[Look] = ALL_LOOKS,
        logged_in: bool = True,
    ) -> None:
        """Take a picture of a page in several looks.

        Args:
            name: Of the picture.
            path: Of the page.
            settle: Returns when the page shows what the picture is about.
            looks: How it is looked at.
            logged_in: Whether the demo user is logged in.
        """
        for look in looks:
            with self.look(look, logged_in=logged_in) as page:
                page.goto(f"{ADDRESS}{path}")
                settle(page)
                self.save(page, f"{name}{look.suffix}", is_whole=look is PHONE)

    def save(self, page: Page, name: str, *, is_whole: bool = False) -> None:
        """Keep what a page shows.

        Args:
            page: The page.
            name: Of the picture.
            is_whole: The part below the window's edge, too.
        """
        page.screenshot(path=IMAGES_DIR / f"{name}.png", full_page=is_whole)
        print(f"{name}.png", flush=True)

    def start(self, n_gpus: int = 1) -> None:
        """Ask for a session of the demo user."""
        self.stop()
        # Answered when the session is ready, has failed or has waited for some seconds.
        body = {"gpus": n_gpus}
        self._client.rest("POST", f"/users/{self._user}/server", self._token, json=body)

    def stop(self) -> None:
        """End the session of the demo user."""
        self._client.rest("DELETE", f"/users/{self._user}/server", self._token)
        eventually(lambda: not sessions_of(self._user), timeout_s=30)


@contextlib.contextmanager
def full_cluster() -> Iterator[None]:
    """Let another user hold every GPU, with one more job in the queue."""
    for n_gpus in [N_GPUS_OF_NODE] * N_NODES + [1]:
        options = ("--parsable", "--nodes=1", f"--gpus-per-node={n_gpus}", "--time=45")
        run_as(OTHER, "sbatch", *options, "--output=/dev/null", "--wrap=exec sleep 2700")
    squeue = ("squeue", "-h", "-u", OTHER, "-t", "R", "-o", "%T")
    eventually(lambda: len(run_as(OTHER, *squeue).split()) == N_NODES, timeout_s=30)
    try:
        yield
    finally:
        subprocess.run(["scancel", "-u", OTHER], check=True, timeout=30)


def has_text(selector: str, text: str) -> Callable[[Page], object]:
    """Return what waits until a part of a page shows a text."""
    pattern = re.compile(text)
    return lambda page: expect(page.locator(selector)).to_contain_text(pattern, timeout=TIMEOUT_MS)


def take_entrance(studio: Studio) -> None:
    """Login and form."""
    studio.take("login", "/hub/login", has_text("main", "Sign in"), logged_in=False)
    studio.take("options", f"/hub/spawn/{USER}", has_text("main", "now"))


def take_waiting(studio: Studio) -> None:
    """A session that waits, the cluster meanwhile, and one that failed."""
    with full_cluster():
        studio.start()
        waiting = f"/hub/spawn-pending/{USER}"
        studio.take("progress", waiting, has_text("#waiting-facts", r"before it.*about \d\d:\d\d"))
        studio.take("cluster", "/hub/cluster", has_text("main", "GPU"))
    with server_that_breaks():
        studio.start()
        studio.take("failure", waiting, settle_on_failure)


def settle_on_failure(page: Page) -> None:
    """Return when the page says that the session did not start."""
    expect(page.locator("h1")).to_have_text("Your session did not start", timeout=TIMEOUT_MS)


def take_home(studio: Studio) -> None:
    """The home page of a running session, who holds what, and a session that was ended."""
    studio.start()
    with studio.look(logged_in=True) as page:
        open_session(page)
    studio.take("control-panel", "/hub/home", has_text("#session-state", "Running"))
    administrator = studio.of(OTHER)
    administrator.take("administrator", "/hub/cluster", has_text("#sessions", USER), looks=[WIDE])
    subprocess.run(["scancel", *(str(job.job_id) for job in sessions_of(USER))], check=True)
    with studio.look(logged_in=True) as page:
        page.goto(f"{ADDRESS}/hub/home")
        has_text("main", "The last session has ended")(page)
    studio.take("ended", f"/hub/spawn-pending/{USER}", has_text("h1", "has ended"), looks=[WIDE])


def take_landing(studio: Studio) -> None:
    """JupyterLab as it opens."""
    studio.start(first_light.N_GPUS)
    with studio.look(logged_in=True) as page:
        open_session(page)
        studio.save(page, "landing")
    studio.stop()


def open_session(page: Page) -> None:
    """Go from the waiting page to JupyterLab and wait until it shows the user's folders."""
    page.goto(f"{ADDRESS}/hub/spawn-pending/{USER}")
    page.wait_for_url(re.compile(f"/user/{USER}/lab"), timeout=START_TIMEOUT_MS)
    expect(first_light.file_in_browser(page, "templates")).to_be_visible()
    page.wait_for_load_state("networkidle")


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


SCENES = {
    "entrance": take_entrance,
    "waiting": take_waiting,
    "home": take_home,
    "landing": take_landing,
    "trainings": take_trainings,
}


def main(names: Sequence[str]) -> int:
    """Take scenes.

    Args:
        names: Which; none for all.

    Returns:
        0, or 2 where there is no such scene or this is not run as root.
    """
    unknown = set(names) - set(SCENES)
    if unknown or os.geteuid() != 0:
        print(f"Run as root, with some of: {', '.join(SCENES)}.", file=sys.stderr)
        return 2
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        studio = Studio(browser)
        studio.stop()
        for name in names or SCENES:
            SCENES[name](studio)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
