"""The tools of a session in a browser, in JupyterLab and in Notebook, on the real cluster."""

import pwd
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.conftest import file_in_browser, picture
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, demo_password

pytestmark = pytest.mark.cluster

USER = "grace"
HOME = Path(pwd.getpwnam(USER).pw_dir)
TIMEOUT_MS = 60_000
SCRIPT = """#!/bin/bash
#SBATCH -n 1
#SBATCH --mem=64M
#SBATCH --time=5
#SBATCH --output=sample-%j.out
echo "hello from $(hostname)"
exec sleep 300
"""
# Cards of the launcher that are seen without scrolling, in the portal as deploy/up makes it.
ABOVE_THE_FOLD = (
    *("Clone a Git Repository", "VS Code", "MLflow"),
    *("Jobs and Runs", "Environments", "isilon"),
)
SITE_TEMPLATES = Path("/opt/data-scientist-portal/templates")
TEMPLATE = "tensorflow/digits.ipynb"


def as_user(*argv: str, text: str = "") -> str:
    command = ["sudo", "-n", "-H", "-u", USER, *argv]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, check=True, cwd="/"
    ).stdout


def write_as_user(path: Path, text: str) -> None:
    as_user("tee", str(path), text=text)


@pytest.fixture(scope="module", autouse=True)
def session(context: BrowserContext) -> Iterator[None]:
    """A session of the user, logged in; her files are as a new user has them afterwards."""
    client = PortalClient(USER)
    client.login()
    token = client.token()

    client.stop(token)
    as_user("mkdir", "-p", str(HOME / "work"))
    write_as_user(HOME / "work/sample.job", SCRIPT)
    client.rest("POST", f"/users/{USER}/server", token, json={})
    page = context.new_page()
    page.goto(f"{ADDRESS}/hub/login?next=/hub/home")
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    eventually(lambda: client.rest("GET", f"/users/{USER}", token).json()["server"], timeout_s=60)
    page.close()
    yield
    client.stop(token)
    subprocess.run(["scancel", "-u", USER], check=True)
    as_user("rm", "-rf", str(HOME / "work"))


def open_lab(page: Page, folder: str = "") -> None:
    place = f"/tree/{folder}" if folder else ""
    page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/tools{place}?reset")
    expect(page.locator(".jp-DirListing-item").first).to_be_visible(timeout=TIMEOUT_MS)


def jobs_panel(page: Page) -> Locator:
    return page.locator("#data-scientist-portal-jobs")


def cancel_first_job(page: Page, body: Locator) -> None:
    page.once("dialog", lambda dialog: dialog.accept())
    body.get_by_role("button", name="Cancel job").click()
    expect(body.locator("[data-part=message]")).to_contain_text("was cancelled")
    expect(body.locator("[data-part=rows] .CANCELLED").first).to_be_visible(timeout=TIMEOUT_MS)


def test_the_launcher_shows_templates_by_goal_and_the_tools(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    open_lab(page)

    launcher = page.locator(".jp-Launcher").last
    for name in ABOVE_THE_FOLD:
        card = launcher.get_by_text(name, exact=True)
        expect(card).to_be_in_viewport(ratio=1, timeout=TIMEOUT_MS)
    page.set_viewport_size({"width": 1280, "height": 860})
    cards = launcher.locator(".jp-LauncherCard[data-category^=Templates]")
    expect(cards.first).to_have_text(re.compile("Start here"), timeout=TIMEOUT_MS)
    headings = launcher.locator(".jp-Launcher-sectionTitle").all_inner_texts()
    goals = [text for text in headings if text.startswith("Templates: ")]
    assert goals[0] == "Templates: First steps"
    assert len(goals) == len(set(goals)) > 1
    assert headings.index("Tools") < headings.index(goals[0])
    card = cards.filter(has_text="Handwritten digits with Keras")
    expect(card).to_have_attribute("title", re.compile(r"Last tested on \d{4}-\d{2}-\d{2}"))
    expect(launcher).to_contain_text("Jobs and Runs")
    expect(launcher).to_contain_text("TensorBoard")
    launcher.get_by_text("Handwritten digits with Keras").scroll_into_view_if_needed()
    picture(page, "tools-launcher")


@pytest.mark.release
def test_jupyterlab_has_the_portals_name_and_guide_and_is_dark_as_the_system_is(
    chromium: Browser, context: BrowserContext
) -> None:
    state = context.storage_state()
    dark = chromium.new_context(storage_state=state, color_scheme="dark")
    page = dark.new_page()
    open_lab(page)

    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    home = page.get_by_role("link", name="home page")
    assert (home.get_attribute("href") or "").endswith("/hub/home")
    page.get_by_role("menuitem", name="Help", exact=True).click()
    with dark.expect_page() as opened:
        page.locator(".lm-Menu-itemLabel").get_by_text("Portal Guide", exact=True).click()
    expect(opened.value.get_by_role("heading", name="Use the portal")).to_be_visible()
    picture(page, "tools-dark")
    page.keyboard.press("Control+Shift+C")
    palette = page.locator(".lm-CommandPalette")
    palette.get_by_placeholder("SEARCH").fill("help")
    expect(palette.get_by_role("menuitem").first).to_contain_text("Portal Guide")
    page.keyboard.press("Escape")
    page.get_by_role("menuitem", name="Help", exact=True).click()
    with dark.expect_page() as opened:
        page.locator(".lm-Menu-itemLabel").get_by_text("Connect Your Own Editor…").click()
    expect(opened.value.get_by_role("heading", name="Your own editor over ssh")).to_be_visible()
    dark.close()


def test_a_script_of_the_file_browser_becomes_a_job_that_is_followed_and_cancelled(
    page: Page,
) -> None:
    open_lab(page, "work")
    file_in_browser(page, "sample.job").click(button="right")
    page.locator(".lm-Menu").get_by_text("Submit as Slurm Job").click()

    body = jobs_panel(page)
    expect(body.locator("[data-part=preview]")).to_contain_text(
        "Submit work/sample.job?", timeout=TIMEOUT_MS
    )
    expect(body.locator("[data-part=preview]")).to_contain_text("time")
    expect(body.locator("[data-part=forecast]")).to_contain_text("to start at")
    picture(page, "tools-job-preview")
    body.get_by_role("button", name="Submit", exact=True).click()

    expect(body.locator("[data-job] pre")).to_contain_text("hello from", timeout=TIMEOUT_MS)
    expect(body.locator("[data-part=rows]")).to_contain_text("session of the portal")
    picture(page, "tools-jobs")
    cancel_first_job(page, body)


def test_the_file_menu_has_one_way_to_sign_out_which_says_what_keeps_running(
    context: BrowserContext,
) -> None:
    page = context.new_page()
    open_lab(page)
    page.get_by_role("menuitem", name="File", exact=True).click()
    sign_out = page.locator(".lm-Menu-itemLabel").get_by_text("Log Out", exact=True)
    expect(sign_out).to_have_count(1)

    sign_out.click()

    page.wait_for_url(re.compile("/hub/portal/sign-out"), timeout=TIMEOUT_MS)
    page.close()


def test_notebook_7_has_the_same_jobs_in_a_tab(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{ADDRESS}/user/{USER}/tree/work")
    expect(file_in_browser(page, "sample.job")).to_be_visible(timeout=TIMEOUT_MS)
    file_in_browser(page, "sample.job").click(button="right")
    with context.expect_page() as opened:
        page.locator(".lm-Menu").get_by_text("Submit as Slurm Job").click()
    tab = opened.value
    tab.get_by_role("button", name="Submit", exact=True).click()
    expect(tab.locator("[data-job] pre")).to_contain_text("hello from", timeout=TIMEOUT_MS)
    picture(tab, "tools-jobs-notebook")
    cancel_first_job(tab, tab.locator("body"))
    tab.close()

    page.get_by_role("menuitem", name="New", exact=True).click()
    expect(page.locator(".lm-Menu").get_by_text("Jobs and Runs")).to_be_visible()
    page.close()


def test_an_array_is_one_row_that_opens_its_tasks_and_cancels_them(page: Page) -> None:
    argv = ("sbatch", "--parsable", "--begin=now+1hour", "--array=1-40", "--output=/dev/null")
    array = as_user(*argv, "--job-name=sweep", "--wrap=true").strip()

    page.goto(f"{ADDRESS}/user/{USER}/portal/jobs")
    row = page.locator(f"[data-job='{array}']")
    expect(row).to_contain_text("40 tasks: 40 waiting.", timeout=TIMEOUT_MS)
    tasks = page.locator(f"[data-job^='{array}_']")
    expect(tasks).to_be_hidden()
    row.get_by_role("button", name="Tasks of job").click()
    expect(tasks).to_be_visible()
    row.get_by_role("button", name="Hold").click()
    expect(row.get_by_role("button", name="Release")).to_be_visible(timeout=TIMEOUT_MS)
    page.once("dialog", lambda dialog: dialog.accept())
    row.get_by_role("button", name="Cancel").click()
    # Accounting does not list what was not yet to start.
    expect(row).to_have_count(0, timeout=TIMEOUT_MS)


def test_a_template_is_restored_and_the_edited_one_is_kept(page: Page) -> None:
    original = (SITE_TEMPLATES / TEMPLATE).read_text()
    write_as_user(HOME / "templates" / TEMPLATE, '{"cells": [], "metadata": {}}')
    open_lab(page, "templates/tensorflow")
    file_in_browser(page, "digits.ipynb").click(button="right")
    page.locator(".lm-Menu").get_by_text("Restore Template").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Restore").click()

    expect(file_in_browser(page, "digits.edited.ipynb")).to_be_visible(timeout=TIMEOUT_MS)
    assert (HOME / "templates" / TEMPLATE).read_text() == original
    picture(page, "tools-template-restored")
    as_user("rm", str(HOME / "templates/tensorflow/digits.edited.ipynb"))


def test_a_cell_shows_the_link_to_tensorboard(page: Page, context: BrowserContext) -> None:
    as_user("mkdir", "-p", str(HOME / "work/logs"))
    notebook = """{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [],
      "execution_count": null, "source":
      ["from dsportal import tensorboard\\n", "tensorboard(\\"logs\\")"]}],
      "metadata": {"kernelspec": {"name": "tensorflow", "display_name": "TensorFlow"}},
      "nbformat": 4, "nbformat_minor": 5}"""
    write_as_user(HOME / "work/board.ipynb", notebook)
    page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/tools/tree/work/board.ipynb?reset")
    expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle", timeout=TIMEOUT_MS)
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").click()
    page.keyboard.press("Shift+Enter")

    link = page.get_by_role("link", name="TensorBoard of work/logs")
    expect(link).to_be_visible(timeout=TIMEOUT_MS)
    picture(page, "tools-tensorboard-cell")
    with context.expect_page() as opened:
        link.click()
    tab = opened.value
    expect(tab).to_have_title(re.compile("logs - TensorBoard"), timeout=TIMEOUT_MS)
    tab.reload()
    expect(tab).to_have_title(re.compile("logs - TensorBoard"), timeout=TIMEOUT_MS)
    tab.close()


@pytest.mark.release
def test_a_progress_bar_is_drawn_in_jupyterlab_and_in_notebook_7(page: Page) -> None:
    notebook = """{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [],
      "execution_count": null, "source":
      ["from tqdm.auto import tqdm\\n", "for step in tqdm(range(3), desc='Steps'): pass"]}],
      "metadata": {"kernelspec": {"name": "pytorch", "display_name": "PyTorch"}},
      "nbformat": 4, "nbformat_minor": 5}"""

    for name, path in (("lab", "lab/workspaces/tools/tree"), ("notebook", "notebooks")):
        write_as_user(HOME / f"work/{name}.ipynb", notebook)
        page.goto(f"{ADDRESS}/user/{USER}/{path}/work/{name}.ipynb?reset")
        # A cell that is run earlier is asked for its kernel.
        eventually(lambda name=name: is_connected(page, f"work/{name}.ipynb"), timeout_s=120)
        page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")

        output = page.locator(".jp-OutputArea-output").first
        expect(output.locator(".jupyter-widgets .progress")).to_be_visible(timeout=TIMEOUT_MS)
        expect(output).to_contain_text("3/3")
        picture(page, f"tools-progress-{name}")


def is_connected(page: Page, path: str) -> bool:
    """Whether a page is connected to the idle kernel of a notebook."""
    sessions = page.request.get(f"{ADDRESS}/user/{USER}/api/sessions").json()
    kernels = [session["kernel"] for session in sessions if session["path"] == path]
    return any(kernel["connections"] and kernel["execution_state"] == "idle" for kernel in kernels)
