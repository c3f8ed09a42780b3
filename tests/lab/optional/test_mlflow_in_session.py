"""MLflow as users see it: a session of the hub, behind its proxy, and behind the TLS front end."""

import asyncio
import re
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect  # noqa: E402

from tests.hub.conftest import authority, chromium  # noqa: E402, F401
from tests.hub.private_nginx import FrontEnd, running_nginx  # noqa: E402
from tests.hub.private_slapd import Authority  # noqa: E402
from tests.support import parts  # noqa: E402
from tests.support.chromium import picture  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.kernels import ask, run_cell, run_in_notebook  # noqa: E402
from tests.support.portal_client import (  # noqa: E402
    ADDRESS,
    UserSession,
    demo_password,
)

pytestmark = pytest.mark.cluster
USER = "ada"
SETTINGS = Path("/etc/data-scientist-portal/portal.toml")
TEMPLATE = Path(__file__).parents[3] / "notebook_templates/tensorflow/digits.py"
FOLDER = Path("/home", USER, "mlruns")
BEFORE = """
import keras, mlflow
mlflow.keras.autolog(log_models=False)
mlflow.start_run(run_name="digits-template")
"""
# Of a run in the kernel, and of one on a rank.
SOURCES = """
from dsportal import run

def source():
    import mlflow
    with mlflow.start_run(run_name="of-a-notebook") as started:
        pass
    tags = mlflow.get_run(started.info.run_id).data.tags
    return tags["mlflow.source.name"] + " " + tags["mlflow.source.type"]

print(source())
print(run(source, gpus=1))
"""
TIMEOUT_MS = 60_000
# Asked only where the address is that of the user's own machine; the portal refuses it.
ASSISTANT = "/mlflow/assistant/"


@pytest.fixture(scope="module")
def pages_of_mlflow(plan: Any) -> Iterator[None]:
    """Sessions have MLflow's pages."""
    kept = SETTINGS.read_text()
    table = f'[environments]\nmlflow = "{plan.environment("mlflow")}"\n'
    assert "[environments]\n" in kept
    parts.stop("hub")
    SETTINGS.write_text(kept.replace("[environments]\n", table, 1))
    parts.start("hub")
    yield
    parts.stop("hub")
    SETTINGS.write_text(kept)
    parts.start("hub")


@pytest.fixture(scope="module")
def session(pages_of_mlflow: None) -> Iterator[UserSession]:
    session = UserSession(USER)
    session.client.stop(session.token)
    session.client.start(session.token, gpus=1)
    yield session
    session.client.stop(session.token)


def in_thread(work: Coroutine[Any, Any, str]) -> str:
    # Playwright has the event loop of this thread.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def run(session: UserSession, code: str) -> str:
    return in_thread(run_cell(session, "tensorflow", code))


@pytest.fixture(scope="module")
def runs(session: UserSession) -> None:
    """The template's notebook was run as a run of MLflow."""
    template = TEMPLATE.read_text().replace("EPOCHS = 10", "EPOCHS = 2")
    shown = run(session, f"{BEFORE}\n{template}\nmlflow.end_run()")
    assert "Test accuracy" in shown, shown


@pytest.fixture(scope="module", params=["the portal's port", "TLS on a port of its own"])
def address(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    authority: Authority,  # noqa: F811
) -> Iterator[str]:
    """What users open."""
    if request.param == "the portal's port":
        yield ADDRESS
        return
    front_end = FrontEnd.on_free_ports()
    with running_nginx(tmp_path_factory.mktemp("front-end") / "nginx", front_end, authority, 8000):
        yield front_end.url


@pytest.fixture(scope="module")
def signed_in(chromium: Browser, address: str) -> Iterator[BrowserContext]:  # noqa: F811
    """A browser in which the user is signed in; it does not know the tests' own authority."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 860}, ignore_https_errors=True
    )
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    page.goto(address)
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(demo_password())
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/hub/home"))
    page.close()
    yield context
    context.close()


@pytest.fixture
def context(runs: None, signed_in: BrowserContext) -> Iterator[BrowserContext]:
    yield signed_in
    for page in signed_in.pages:
        page.close()


def open_runs(context: BrowserContext, session: UserSession, address: str) -> Page:
    """Open the list of runs of the first experiment."""
    opened = ask(session, "POST", "portal/api/mlflow", json={"logdir": FOLDER.name})
    page = context.new_page()
    page.goto(f"{address}{opened['url']}#/experiments/0/runs")
    expect(link(page, "digits-template")).to_be_visible(timeout=TIMEOUT_MS)
    return page


def link(page: Page, name: str) -> Locator:
    return page.get_by_role("link", name=name, exact=True).first


def make_run(session: UserSession, name: str) -> None:
    run(session, f"import mlflow\nwith mlflow.start_run(run_name={name!r}): pass")


def names_of_runs() -> set[str]:
    """Return the names of the runs that are not deleted, as the files say."""
    found = set()
    for path in FOLDER.glob("0/*/meta.yaml"):
        text = path.read_text()
        if "lifecycle_stage: active" in text:
            found |= set(re.findall(r"^run_name: (.*)$", text, flags=re.MULTILINE))
    return found


def test_the_button_opens_the_run_of_the_template_with_its_curves(
    context: BrowserContext, address: str
) -> None:
    asked: list[str] = []
    failed: list[str] = []

    def note(page: Page) -> None:
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfailed", lambda request: failed.append(request.url))
        page.on("response", lambda one: failed.append(one.url) if one.status >= 400 else None)

    lab = context.new_page()
    lab.goto(f"{address}/user/{USER}/lab/workspaces/test?reset")
    folder = lab.locator(".jp-DirListing-item", has_text="mlruns")
    expect(folder).to_be_visible(timeout=TIMEOUT_MS)
    folder.click()
    context.on("page", note)
    with context.expect_page() as opened:
        lab.locator(".jp-FileBrowser-toolbar").get_by_title(re.compile("in MLflow")).click()
    context.remove_listener("page", note)
    tab = opened.value

    tab.get_by_role("link", name="Default").first.click(timeout=TIMEOUT_MS)
    link(tab, "digits-template").click(timeout=TIMEOUT_MS)
    expect(tab.get_by_role("link", name="val_accuracy")).to_be_visible(timeout=TIMEOUT_MS)
    tab.get_by_role("tab", name="Model metrics").click()
    expect(tab.locator("svg.main-svg").first).to_be_visible(timeout=TIMEOUT_MS)
    picture(tab, "mlflow-in-session")
    assert [url for url in failed if ASSISTANT not in url] == []
    elsewhere = [url for url in asked if not url.startswith((f"{address}/", "data:", "blob:"))]
    assert elsewhere == []


def test_a_run_is_renamed(context: BrowserContext, session: UserSession, address: str) -> None:
    make_run(session, "to-rename")
    page = open_runs(context, session, address)
    link(page, "to-rename").click()

    page.get_by_test_id("overflow-menu-trigger").first.click()
    page.get_by_test_id("overflow-rename-button").click()
    page.get_by_test_id("rename-modal-input").fill("renamed")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()

    expect(page.get_by_role("heading", name="renamed")).to_be_visible()
    eventually(lambda: "renamed" in names_of_runs(), timeout_s=30)
    assert "to-rename" not in names_of_runs()


def test_a_run_names_the_notebook_that_made_it_also_on_a_rank(session: UserSession) -> None:
    shown = in_thread(run_in_notebook(session, "tensorflow", "study.ipynb", SOURCES))

    # Between the two is the bar of the run.
    assert shown.count("study.ipynb NOTEBOOK\n") == 2, shown
