"""JupyterLab's form that runs a notebook as a job, in Chromium."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import BrowserContext, Page, Route, expect  # noqa: E402

from tests.support.chromium import TIMEOUT_MS  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402

ROUTE = re.compile(r"/portal/api/notebook-jobs(\?.*)?$")
FORECAST = re.compile(r"/portal/api/notebook-jobs/forecast(\?.*)?$")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    folder = tmp_path_factory.mktemp("notebook-jobs")
    # Without Slurm's programs: what the form submits is refused in a sentence.
    environ = {"PORTAL_N_GPUS": "2", "PORTAL_WALLTIME_S": "7200", "PATH": "/nowhere"}
    environ["PORTAL_MAIL_ADDRESS"] = "ada@example.org"
    server = start_jupyterlab(folder, tensorboard_python, environ)
    cells = [nbformat.v4.new_code_cell("lr = 0.1  # how fast\nepochs = 3")]
    cells[0].metadata["tags"] = ["parameters"]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, server.root / "train.ipynb")
    yield server
    server.stop()


@pytest.fixture
def page(context: BrowserContext, server: NotebookServer) -> Iterator[Page]:
    """JupyterLab with the form of a notebook, opened from the file browser."""
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/lab/workspaces/jobs?reset")
    item = page.locator(".jp-DirListing-item", has_text="train.ipynb")
    item.click(button="right", timeout=TIMEOUT_MS)
    page.get_by_role("menuitem", name="Run as a Job…").click()
    yield page
    page.close()


def test_the_form_has_the_size_of_the_session_and_the_parameters_of_the_notebook(
    page: Page,
) -> None:
    form = page.locator(".dsp-form")

    expect(form.get_by_label("GPUs", exact=True)).to_have_value("2")
    expect(form.get_by_label("Hours", exact=True)).to_have_value("2")
    expect(form.get_by_label("lr", exact=True)).to_have_value("0.1")
    expect(form.get_by_label("epochs", exact=True)).to_have_value("3")


def test_the_form_sends_the_size_and_what_was_changed(page: Page) -> None:
    sent: list[dict[str, object]] = []

    def note(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        sent.append(route.request.post_data_json)
        route.fulfill(status=201, json={"message": "train.ipynb runs as job 12."})

    page.route(ROUTE, note)
    page.locator(".dsp-form select").select_option("every Monday")
    page.locator(".dsp-form").get_by_label("At", exact=True).fill("4:00")
    page.locator(".dsp-form").get_by_label("lr", exact=True).fill("0.5")
    page.locator(".dsp-form").get_by_label("Mail to ada@example.org when it has ended").check()
    page.get_by_role("button", name="Run as a Job").click()

    expect(page.get_by_text("train.ipynb runs as job 12.").first).to_be_visible()
    size = {"gpus": "2", "nodes": "1", "hours": "2"}
    when = {"every": "monday", "at": "4:00", "mail": True}
    assert sent == [{"path": "train.ipynb", **size, **when, "parameters": {"lr": "0.5"}}]


def test_the_form_says_when_the_job_would_start_or_why_it_would_not(page: Page) -> None:
    page.route(
        FORECAST,
        lambda route: route.fulfill(
            json={"message": f"{route.request.post_data_json['gpus']} GPUs: about 14:20."}
        ),
    )
    form = page.locator(".dsp-form")
    form.get_by_label("GPUs", exact=True).fill("4")
    expect(form.get_by_role("status")).to_have_text("4 GPUs: about 14:20.")

    # The real answer: three nodes cannot have four GPUs.
    page.unroute(FORECAST)
    form.get_by_label("Nodes", exact=True).fill("3")
    expect(form.get_by_role("status")).to_contain_text("every node has the same number of ranks")
    form.get_by_label("Nodes", exact=True).fill("many")
    expect(form.get_by_role("status")).to_have_text("")


def test_a_refused_job_leaves_the_form_open_with_the_reason(page: Page) -> None:
    form = page.locator(".dsp-form")
    form.get_by_label("Nodes", exact=True).fill("3")
    page.get_by_role("button", name="Run as a Job").click()

    expect(form.get_by_role("alert")).to_contain_text("every node has the same number of ranks")
    expect(form.get_by_label("Nodes", exact=True)).to_have_value("3")


def test_the_button_in_a_notebooks_toolbar_opens_the_form(
    context: BrowserContext, server: NotebookServer
) -> None:
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/lab/workspaces/toolbar/tree/train.ipynb?reset")
    bar = page.locator(".jp-NotebookPanel-toolbar")
    bar.get_by_title("Run the notebook to its end as a Slurm job").click(timeout=TIMEOUT_MS)

    expect(page.locator(".dsp-form").get_by_label("lr", exact=True)).to_have_value("0.1")
    page.close()
