"""The portal's proxy ends and comes back while somebody saves, or uploads a large file."""

import hashlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Page, expect

from tests.support.eventually import eventually
from tests.support.portal_below import (
    START_TIMEOUT_MS,
    PortalBelow,
    running_portal_below,
)
from tests.support.portal_client import demo_password

pytestmark = pytest.mark.cluster

OWNER = "ada"
FOLDER = Path("/home", OWNER, "of-a-test")
N_MIB, N_KILLS = 200, 3
# What the page asks for meanwhile, and a piece as it is received and as it is written.
MOST_MEMORY_MIB = 48
UPLOAD_TIMEOUT_MS = 600_000


@pytest.fixture(scope="module")
def portal() -> Iterator[PortalBelow]:
    with running_portal_below(OWNER) as portal:
        yield portal
    shutil.rmtree(FOLDER, ignore_errors=True)


@pytest.fixture(scope="module")
def page(chromium: Browser, portal: PortalBelow) -> Iterator[Page]:
    """JupyterLab of a session that runs, with a folder of this test's own open."""
    FOLDER.mkdir()
    kernel = {"name": "python3", "display_name": "Python 3"}
    cells = [new_code_cell("best = 0", id="best")]
    nbformat.write(
        new_notebook(cells=cells, metadata={"kernelspec": kernel}), FOLDER / "results.ipynb"
    )
    for one in (FOLDER, FOLDER / "results.ipynb"):
        shutil.chown(one, OWNER)
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{portal.url}/hub/login?next=/jupyter/hub/spawn%3Fgpus%3D1")
    page.get_by_label("Username").fill(OWNER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(f"{portal.url}/user/{OWNER}/lab**", timeout=START_TIMEOUT_MS)
    page.goto(
        f"{portal.url}/user/{OWNER}/lab/workspaces/of-a-test/tree/{FOLDER.name}/results.ipynb?reset"
    )
    expect(page.locator(".jp-CodeCell .cm-content").first).to_contain_text(
        "best", timeout=START_TIMEOUT_MS
    )
    # Its kernel has started, too: a page that is still loading asks for more than saves.
    expect(page.get_by_text("Python 3 | Idle").first).to_be_visible(timeout=START_TIMEOUT_MS)
    yield page
    context.close()


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def test_what_is_saved_while_the_proxy_is_away_is_saved_when_it_is_back(
    page: Page, portal: PortalBelow
) -> None:
    notebook = FOLDER / "results.ipynb"
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("  # typed before")
    portal.kill_proxy()
    page.keyboard.press("Control+s")
    # JupyterLab loads what shows notifications with the first one, which it may not have had yet.
    expect(page.get_by_text("Saving started")).to_be_visible()
    page.keyboard.type(", and meanwhile")

    portal.start_proxy()

    eventually(lambda: "typed before, and meanwhile" in notebook.read_text(), timeout_s=60)
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    # The file is there before its page has heard of it.
    expect(page.locator(".jp-mod-dirty")).to_have_count(0)


@pytest.mark.release
def test_an_upload_is_whole_although_the_proxy_was_killed_again_and_again(
    page: Page, portal: PortalBelow, tmp_path: Path
) -> None:
    path, random_bytes = tmp_path / "large.bin", random.Random(2)
    with path.open("wb") as file:
        for _ in range(N_MIB):
            file.write(random_bytes.randbytes(1024 * 1024))
    before_mib = most_mib = anonymous_mib()
    with page.expect_file_chooser() as chooser:
        page.locator(".jp-FileBrowser .jp-id-upload").first.click()
    chooser.value.set_files(path)

    for n in range(1, N_KILLS + 1):
        least_bytes = n * path.stat().st_size // (N_KILLS + 1)
        eventually(lambda least=least_bytes: n_arrived() >= least, timeout_s=600)
        portal.kill_proxy()
        assert n_arrived() < path.stat().st_size, "it was killed in the middle"
        most_mib = max(most_mib, anonymous_mib())
        portal.start_proxy()

    expect(page.get_by_text("large.bin", exact=True)).to_be_visible(timeout=UPLOAD_TIMEOUT_MS)
    eventually(lambda: (FOLDER / "large.bin").exists(), timeout_s=600)
    assert digest(FOLDER / "large.bin") == digest(path)
    assert not list(FOLDER.glob("*.part"))
    assert max(most_mib, anonymous_mib()) - before_mib < MOST_MEMORY_MIB


def anonymous_mib() -> int:
    """Return what the session's server has allocated itself."""
    (server,) = (
        process
        for process in psutil.process_iter(["cmdline", "username"])
        if process.info["username"] == OWNER
        and any("dsportal-singleuser" in word for word in process.info["cmdline"] or ())
    )
    rollup = Path(f"/proc/{server.pid}/smaps_rollup").read_text()
    (line,) = (line for line in rollup.splitlines() if line.startswith("Anonymous:"))
    return int(line.split()[1]) // 1024


def n_arrived() -> int:
    """Return how many bytes of the upload are there."""
    found = [*FOLDER.glob("large.bin.*.part"), *FOLDER.glob("large.bin")]
    return max((one.stat().st_size for one in found), default=0)
