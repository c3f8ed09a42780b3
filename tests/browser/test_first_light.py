"""The whole way of a new user, in a browser, in the order of these tests."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.conftest import file_in_browser, picture
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, demo_password, sessions_of

pytestmark = pytest.mark.cluster

USER = "ada"
N_GPUS = 2
START_TIMEOUT_MS = 90_000
TRAINING_TIMEOUT_MS = 300_000


@pytest.fixture(scope="module", autouse=True)
def no_session_before_and_after() -> Iterator[None]:
    client = PortalClient(USER)
    client.login()
    token = client.token()
    client.stop(token)
    yield
    client.stop(token)


def test_1_login_page_takes_the_clusters_name_and_password(page: Page) -> None:
    page.goto(ADDRESS)
    picture(page, "1-login")

    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()

    expect(page).to_have_url(re.compile("/hub/home"))


def test_2_server_page_offers_my_server(page: Page) -> None:
    button = page.get_by_role("link", name="My Server").or_(
        page.get_by_role("button", name="My Server")
    )
    expect(button.first).to_be_visible()
    picture(page, "2-server-page")

    button.first.click()

    expect(page).to_have_url(re.compile("/hub/spawn"))


def test_3_options_say_what_comes_with_each_gpu(page: Page) -> None:
    choices = page.locator("input[name=gpus]")
    # One of them is a session without a GPU.
    expect(choices).to_have_count(5)
    body = page.locator("body")
    for text in ("8 cores", "48 GB", "32 cores", "192 GB", "8 hours", "simulated"):
        expect(body).to_contain_text(text)
    page.locator(f"input[name=gpus][value='{N_GPUS}']").check(force=True)
    picture(page, "3-options")


def test_4_the_session_is_a_slurm_job_and_the_page_follows_it(page: Page) -> None:
    # A start may take a second; the page stays until JupyterLab's is let through.
    lab = re.compile(f"/user/{USER}/")
    held: list[Route] = []
    is_held = True

    def hold(route: Route) -> None:
        if is_held:
            held.append(route)
        else:
            route.continue_()

    page.route(lab, hold)
    page.get_by_role("button", name=re.compile("^Start")).click()
    expect(page.locator("body")).to_contain_text(re.compile("[Ss]ubmitted"))
    picture(page, "4-progress")
    is_held = False
    for route in held:
        route.continue_()

    page.wait_for_url(re.compile(f"/user/{USER}/lab"), timeout=START_TIMEOUT_MS)
    # Not before: then Playwright lets the held requests pass by itself, now and then.
    page.unroute_all(behavior="wait")

    (job,) = sessions_of(USER)
    assert (job.state, job.n_cpus, job.memory) == ("RUNNING", 8 * N_GPUS, f"{48 * N_GPUS}G")
    assert job.walltime == "8:00:00"
    assert job.gres.endswith(f":{N_GPUS}")
    assert job.node.startswith("node"), "the server runs on a compute node, not on the head"


def test_5_jupyterlab_shows_templates_and_isilon(page: Page) -> None:
    expect(file_in_browser(page, "templates")).to_be_visible(timeout=60_000)
    expect(file_in_browser(page, "isilon")).to_be_visible()
    picture(page, "5-landing")


def test_5_the_classic_page_has_the_new_menu(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{ADDRESS}/user/{USER}/tree")
    expect(file_in_browser(page, "templates")).to_be_visible(timeout=60_000)
    expect(file_in_browser(page, "isilon")).to_be_visible()

    page.get_by_role("menuitem", name="New", exact=True).click()

    menu = page.locator(".lm-Menu")
    for item in ("Python 3", "R", "TensorFlow", "File", "Folder", "Terminal", "TensorBoard"):
        expect(menu.get_by_text(re.compile(f"^(New |Text )?{item}")).first).to_be_visible()
    picture(page, "5-classic-new-menu")
    page.close()


def open_notebook(page: Page, folder: str, name: str) -> None:
    page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/test/tree/templates/{folder}/{name}?reset")
    expect(page.locator(".jp-Notebook").first).to_be_visible(timeout=60_000)
    # Before its kernel has started, a restart would ask which kernel is meant.
    expect(page.locator(".jp-Toolbar-kernelName").first).to_contain_text(
        "TensorFlow", timeout=60_000
    )
    expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle", timeout=60_000)


def restart_and_run_all(page: Page) -> None:
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.locator(".lm-Menu-item").filter(has_text="Restart Kernel and Run All Cells").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Confirm Kernel Restart").click()


def expect_run_to_its_end(page: Page) -> None:
    """Every code cell has a number and none shows an error."""
    prompts = page.locator(".jp-Notebook .jp-CodeCell .jp-InputPrompt")
    eventually(lambda: prompts.count() > 0, timeout_s=30)
    idle = page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").first
    last = page.locator(".jp-Notebook .jp-CodeCell").last.locator(".jp-InputPrompt")
    expect(last).to_have_text(re.compile(r"\[\d+\]:"), timeout=TRAINING_TIMEOUT_MS)
    expect(idle).to_be_attached(timeout=TRAINING_TIMEOUT_MS)
    errors = page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr'] pre")
    tracebacks = [text for text in errors.all_text_contents() if "Traceback" in text]
    assert tracebacks == []


def notebook_text(page: Page) -> str:
    # Not the inner texts: of what is out of sight the browser renders none.
    return "\n".join(page.locator(".jp-Notebook .jp-OutputArea-output").all_text_contents())


def test_6_restart_and_run_all_trains_the_digits(page: Page) -> None:
    open_notebook(page, "tensorflow", "digits.ipynb")
    restart_and_run_all(page)
    expect_run_to_its_end(page)

    text = notebook_text(page)
    assert re.search(r"val_accuracy: \d\.\d+", text), text[-2000:]
    accuracies = [float(a) for a in re.findall(r"Test accuracy: (\d\.\d+)", text)]
    assert accuracies[-1] >= 0.97
    assert page.locator(".jp-Notebook .jp-OutputArea-output img").count() == 4
    for image, name in ((1, "6-digits-curves"), (2, "6-digits-misread")):
        page.locator(".jp-Notebook .jp-OutputArea-output img").nth(
            image
        ).scroll_into_view_if_needed()
        picture(page, name)


def expect_curves(tab: Page) -> None:
    """A value stands below the curve; without data the page shows the names alone."""
    expect(tab.locator("body")).to_contain_text("epoch_accuracy", timeout=30_000)
    expect(tab.locator("scalar-card").first).to_contain_text(re.compile(r"0\.9\d+"), timeout=30_000)


def test_7_tensorboard_button_opens_a_folder_in_a_tab(page: Page, context: BrowserContext) -> None:
    page.goto(f"{ADDRESS}/user/{USER}/lab/workspaces/test/tree/templates/tensorflow?reset")
    expect(file_in_browser(page, "logs")).to_be_visible(timeout=60_000)
    file_in_browser(page, "logs").click()
    with context.expect_page() as opened:
        page.locator(".jp-FileBrowser-toolbar").get_by_title(
            re.compile("TensorBoard")
        ).first.click()
    tab = opened.value

    tab.wait_for_url(re.compile(f"/user/{USER}/portal/tensorboards/"), timeout=20_000)
    expect_curves(tab)
    tab.wait_for_load_state("networkidle")
    picture(tab, "7-tensorboard")
    tab.close()


@pytest.mark.release
def test_8_horovod_trains_on_all_gpus_with_equal_weights(page: Page) -> None:
    open_notebook(page, "horovod", "digits.ipynb")
    restart_and_run_all(page)
    expect_run_to_its_end(page)

    text = notebook_text(page)
    assert "rank" in text.lower()
    assert re.search("equal", text, re.IGNORECASE), text[-2000:]
    picture(page, "8-horovod")


def test_9_stop_my_server_frees_the_gpus_within_five_seconds(page: Page) -> None:
    page.goto(f"{ADDRESS}/hub/home")
    picture(page, "9-control-panel")
    page.get_by_role("button", name="Stop My Server").or_(
        page.get_by_role("link", name="Stop My Server")
    ).first.click()

    eventually(lambda: sessions_of(USER) == [], timeout_s=5)
    picture(page, "9-stopped")
