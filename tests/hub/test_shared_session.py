"""A session that its owner shares, as a colleague uses it: a hub of its own on the real cluster."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Browser, BrowserContext, Page, WebSocket, expect

from tests.support.eventually import eventually
from tests.support.portal_below import START_TIMEOUT_MS, PortalBelow, running_portal_below
from tests.support.portal_client import demo_password, sessions_of

pytestmark = pytest.mark.cluster

OWNER, COLLEAGUE = "ada", "grace"
FOLDER = Path("/home", OWNER, "of-a-test")
PATH = f"{FOLDER.name}/results.ipynb"
# Said within half a minute; a busy machine may need more.
CUT_OFF_TIMEOUT_MS = 90_000
PICTURES_DIR = Path(__file__).parents[1] / "output" / "hub"


@pytest.fixture(scope="module")
def portal() -> Iterator[PortalBelow]:
    """Yield a portal whose site allows sharing."""
    with running_portal_below(OWNER, "\n[sharing]\nenabled = true\n") as portal:
        yield portal


def log_in(chromium: Browser, portal: PortalBelow, name: str) -> BrowserContext:
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{portal.url}/hub/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{portal.url}/hub/home")
    return context


@pytest.fixture
def owner(chromium: Browser, portal: PortalBelow) -> Iterator[Page]:
    """The page of somebody whose session runs."""
    context = log_in(chromium, portal, OWNER)
    page = context.new_page()
    page.goto(f"{portal.url}/hub/spawn?gpus=1")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(f"{portal.url}/user/{OWNER}/lab**", timeout=START_TIMEOUT_MS)
    yield page
    context.close()


@pytest.fixture
def colleague(chromium: Browser, portal: PortalBelow) -> Iterator[Page]:
    context = log_in(chromium, portal, COLLEAGUE)
    yield context.new_page()
    context.close()


@pytest.fixture
def notebook() -> Iterator[Path]:
    """A notebook in the home of the owner."""
    path = FOLDER / "results.ipynb"
    FOLDER.mkdir()
    kernel = {"name": "python3", "display_name": "Python 3"}
    cells = [new_markdown_cell("# Results"), new_code_cell("best = 0.97", id="best")]
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    for one in (FOLDER, path):
        shutil.chown(one, OWNER)
    yield path
    shutil.rmtree(FOLDER)


def let_read_one_notebook(owner: Page) -> Page:
    """Let the colleague read what is open in JupyterLab; return the page with the form."""
    with owner.context.expect_page() as opened:
        owner.locator(".jp-Toolbar-item[data-jp-item-name=share] button").click()
    form = opened.value
    expect(form.get_by_role("heading", name=f"Share {PATH}")).to_be_visible()
    form.get_by_label("Login name of a colleague").fill(COLLEAGUE)
    form.get_by_role("button", name="Let in").click()
    expect(form.get_by_text(f"{COLLEAGUE} reads {PATH}.")).to_be_visible()
    return form


def open_to_read(portal: PortalBelow, colleague: Page) -> None:
    """Open the notebook from the colleague's home page."""
    colleague.goto(f"{portal.url}/hub/home")
    colleague.get_by_role("link", name=f"The session of {OWNER}, to read").click()
    colleague.wait_for_url(re.compile(r"/portal/reading$|/oauth2/authorize"))
    if "/oauth2/authorize" in colleague.url:
        colleague.get_by_role("button", name="Authorize").click()
    colleague.get_by_role("link", name=PATH).click()
    expect(colleague.locator(".reading-cell")).to_have_count(2)


@pytest.mark.release
def test_a_colleague_reads_a_notebook_as_its_owner_types_until_the_owner_ends_it(
    portal: PortalBelow, owner: Page, colleague: Page, notebook: Path
) -> None:
    owner.goto(f"{portal.url}/user/{OWNER}/lab/workspaces/of-a-test/tree/{PATH}?reset")
    code = owner.locator(".jp-CodeCell .cm-content").first
    code.click(timeout=START_TIMEOUT_MS)
    form = let_read_one_notebook(owner)
    open_to_read(portal, colleague)
    state, cells = colleague.get_by_role("status"), colleague.locator(".reading-cell")
    expect(state).to_have_text("Live")

    owner.bring_to_front()
    code.click()
    owner.keyboard.press("Control+End")
    owner.keyboard.type("  # grace reads this")

    expect(cells.nth(1)).to_contain_text("best = 0.97  # grace reads this")
    expect(colleague.locator("[data-part=people]")).to_contain_text(OWNER)
    PICTURES_DIR.mkdir(parents=True, exist_ok=True)
    colleague.screenshot(path=PICTURES_DIR / "reading.png")
    # Nothing to write into, and what was not made for reading is refused.
    expect(colleague.locator("input, textarea, button, [contenteditable]")).to_have_count(0)
    session = f"{portal.url}/user/{OWNER}"
    assert colleague.request.get(f"{session}/api/contents/{PATH}").status == 403
    colleague_lab = colleague.context.new_page()
    colleague_lab.goto(f"{session}/lab")
    expect(colleague_lab.get_by_role("heading", name=f"Notebooks of {OWNER}")).to_be_visible()
    colleague_lab.close()

    form.get_by_role("button", name=f"End for {COLLEAGUE}").click()

    expect(cells).to_have_count(0, timeout=CUT_OFF_TIMEOUT_MS)
    expect(state).to_have_text(re.compile("no longer"))
    let_read_one_notebook(owner)
    open_to_read(portal, colleague)
    expect(state).to_have_text("Live")

    for job in sessions_of(OWNER):
        subprocess.run(["scancel", str(job.job_id)], check=True, timeout=30)

    expect(state).to_have_text(re.compile("the session has ended"), timeout=CUT_OFF_TIMEOUT_MS)
    form.goto(f"{portal.url}/hub/home")
    expect(form.get_by_text("Not running").first).to_be_visible(timeout=CUT_OFF_TIMEOUT_MS)
    colleague.goto(f"{portal.url}/hub/home")
    expect(colleague.get_by_role("heading").first).to_be_visible()
    expect(colleague.get_by_text(f"The session of {OWNER}")).to_have_count(0)


@pytest.mark.release
def test_a_colleague_works_in_a_shared_session_until_the_owner_ends_it(
    portal: PortalBelow, owner: Page, colleague: Page
) -> None:
    session = f"{portal.url}/user/{OWNER}/"
    answer = colleague.goto(session)
    assert answer is not None
    assert answer.status == 403
    owner.goto(f"{portal.url}/hub/home")
    owner.get_by_text("Share this session").click()
    owner.get_by_label("Login name of a colleague").fill(COLLEAGUE)
    PICTURES_DIR.mkdir(parents=True, exist_ok=True)
    owner.screenshot(path=PICTURES_DIR / "sharing.png", full_page=True)

    owner.get_by_label("Work as you").check()
    owner.get_by_role("button", name="Let in").click()

    expect(owner.get_by_text(f"Shared with {COLLEAGUE}")).to_be_visible()
    colleague.goto(f"{portal.url}/hub/home")
    colleague.screenshot(path=PICTURES_DIR / "shared-with-you.png", full_page=True)
    sockets: list[WebSocket] = []
    colleague.on("websocket", lambda socket: sockets.append(socket))
    colleague.get_by_role("link", name=f"The session of {OWNER}").click()
    # JupyterHub asks before it tells somebody's name to a session of another.
    colleague.get_by_role("button", name="Authorize").click()
    expect(colleague.locator(".jp-DirListing-item").first).to_be_visible(timeout=60_000)
    colleague.screenshot(path=PICTURES_DIR / "guest.png")
    status = f"{session}api/status"
    assert colleague.request.get(status).status == 200
    assert not all(socket.is_closed() for socket in sockets)
    owner.get_by_role("button", name=f"End for {COLLEAGUE}").click()
    expect(owner.get_by_text("Share this session")).to_be_visible()
    eventually(lambda: colleague.request.get(status).status == 403, timeout_s=60)

    def is_cut_off() -> bool:
        # Asking lets playwright hear of what was closed meanwhile.
        is_refused = colleague.request.get(status).status == 403
        return is_refused and all(socket.is_closed() for socket in sockets)

    eventually(is_cut_off, timeout_s=60)
    refused = colleague.goto(f"{session}lab")
    assert refused is not None
    assert refused.status == 403
    expect(colleague.locator("body")).to_contain_text(f"belongs to {OWNER} and is not shared")
    colleague.screenshot(path=PICTURES_DIR / "ended.png")
