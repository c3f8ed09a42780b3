"""MLflow in its optional environment: a training of digits logs to it, and its page shows it."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
import requests

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect  # noqa: E402

from dsportal.task.folders import create_folder  # noqa: E402
from dsportal.task.plan import End  # noqa: E402
from tests.server.conftest import browser  # noqa: E402, F401
from tests.server.test_web_tools import ANOTHER_USER, USER  # noqa: E402
from tests.support import plans  # noqa: E402
from tests.support.chromium import log_in, picture  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.kernels import run_cell  # noqa: E402
from tests.support.notebook_server import (  # noqa: E402
    NotebookServer,
    descendants,
    is_alive,
    start_jupyterlab,
)
from tests.support.tensorboard_contract import listening_inodes, sockets_of  # noqa: E402

PAGE_TIMEOUT_MS = 120_000
PLAN = replace(plans.PLAN, n_ranks=2, working_dir="/home/ada", n_nodes=2)
SEARCH = "ajax-api/2.0/mlflow/experiments/search?max_results=9"
TRAINING = """
import mlflow
from dsportal import report
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
images, labels = load_digits(return_X_y=True)
model = SGDClassifier(random_state=1)
with mlflow.start_run(run_name="digits-of-ada"):
    mlflow.log_param("alpha", model.alpha)
    for epoch in range(3):
        model.partial_fit(images[:1500], labels[:1500], classes=range(10))
        report(step=epoch + 1, steps=3, images=1500, loss=1 / (epoch + 1))
        mlflow.log_metric("accuracy", model.score(images[1500:], labels[1500:]), step=epoch)
    mlflow.log_text("kept", "note.txt")
    run_id = mlflow.active_run().info.run_id
mlflow.flush_async_logging()
(first, *_) = mlflow.MlflowClient().get_metric_history(run_id, "loss")
print("reported", first.step, first.value, "logged to", mlflow.get_tracking_uri())
"""


@pytest.fixture(scope="module")
def mlflow_python(plan):
    return plan.environment("mlflow") / "bin/python"


@pytest.fixture(scope="module")
def server(tensorboard_python, mlflow_python):
    with tempfile.TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        environ = {
            "PORTAL_SETTINGS": json.dumps(
                {
                    "environments": {"mlflow": str(mlflow_python.parent.parent)},
                    "mlflow": {"enabled": True, "limit": 2},
                }
            ),
            "TMPDIR": str(folder / "tmp"),
        }
        server = start_jupyterlab(folder, tensorboard_python, environ, USER)
        yield server
        server.stop()


@pytest.fixture
def context(server, logged, browser):  # noqa: F811
    context = log_in(browser, server)
    yield context
    context.close()


def ask(server: NotebookServer, method: str, path: str = "", **body: object) -> requests.Response:
    url = f"{server.host}/user/ada/portal/api/mlflow{path}"
    return server.http.request(method, url, json=body or None, timeout=150)


def open_page(server: NotebookServer, folder: str) -> dict[str, str]:
    answer = ask(server, "POST", logdir=folder)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.fixture(scope="module")
def logged(server, mlflow_python):
    # As a cell does in a kernel whose environment has mlflow.
    program = f"import subprocess as s; print(s.run({[str(mlflow_python), '-c', TRAINING]!r},"
    program += " capture_output=True, text=True))"
    return asyncio.run(run_cell(server, "python3", program))


def test_a_training_logs_to_the_folder_in_the_home(server, logged):
    assert f"reported 1 1.0 logged to file://{server.root}/mlruns" in logged


def expect_the_training(page: Page, name: str) -> None:
    page.wait_for_url(re.compile("/user/ada/portal/mlflow/"), timeout=PAGE_TIMEOUT_MS)
    page.goto(f"{page.url.partition('#')[0]}#/experiments/0/runs", timeout=PAGE_TIMEOUT_MS)
    run = page.get_by_role("link", name="digits-of-ada")
    expect(run.first).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    picture(page, f"mlflow-runs-{name}")
    run.first.click()
    expect(page.get_by_text("accuracy").first).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    picture(page, f"mlflow-run-{name}")


def test_the_card_of_the_launcher_begins_at_the_folder_that_kernels_log_to(server, context):
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/lab/workspaces/test?reset")
    page.locator(".jp-LauncherCard").filter(has_text="MLflow").click(timeout=PAGE_TIMEOUT_MS)
    dialog = page.locator(".jp-Dialog")
    expect(dialog.locator(".jp-FileDialog-Checkbox, .jp-DirListing").first).to_be_visible()

    with context.expect_page() as opened:
        dialog.get_by_role("button", name="Select").click()

    expect_the_training(opened.value, "card")


def test_a_page_begins_with_the_experiments_and_offers_no_assistant(server, context):
    page = context.new_page()

    page.goto(f"{server.host}{open_page(server, 'mlruns')['url']}")

    expect(page.get_by_role("link", name="Default")).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    assert page.url.endswith("#/experiments")
    picture(page, "mlflow-first")
    for words in ("collects usage data", "Ask questions about your experiments"):
        expect(page.get_by_text(words)).to_have_count(0)


@pytest.mark.parametrize(
    "path", ["ajax-api/3.0/mlflow/assistant/config", "gateway/mlflow/v1/models"]
)
def test_pages_neither_start_programs_nor_ask_models_elsewhere(server, logged, path):
    url = f"{server.host}{open_page(server, 'mlruns')['url']}{path}"

    assert server.http.get(url, timeout=60).status_code == 404
    assert server.http.post(url, json={}, timeout=60).status_code in {404, 405}


def test_copies_of_the_runs_are_shown_at_once_and_each_ends_on_request(server, logged):
    shutil.copytree(server.root / "mlruns", server.root / "kept/mlruns")
    for path in (server.root / "kept", *(server.root / "kept").rglob("*")):
        os.chown(path, USER, USER)

    pages = [open_page(server, name) for name in ("mlruns", "kept/mlruns")]

    assert open_page(server, "mlruns") == pages[0], "the folder keeps its page"
    for page in pages:
        found = server.http.get(f"{server.host}{page['url']}{SEARCH}", timeout=60).json()
        assert [one["name"] for one in found["experiments"]] == ["Default"]
    assert ask(server, "DELETE", f"/{pages[1]['id']}").status_code == 204
    assert [page["id"] for page in ask(server, "GET").json()] == [pages[0]["id"]]


def test_the_list_of_runs_opens_the_run_of_rank_0(server, context):
    (run_dir,) = (server.root / "mlruns/0").glob("*/artifacts")
    run = create_folder("train-digits", datetime.now(), server.root / "portal-runs")
    run.write_plan(PLAN)
    run.write_end(End(status=0))
    link = {"tracking_uri": (server.root / "mlruns").as_uri(), "experiment_id": "0"}
    run.mlflow_link.write_text(json.dumps({**link, "run_id": run_dir.parent.name}))
    for path in (run.path.parent, run.path, *run.path.iterdir()):
        os.chown(path, USER, USER)
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/portal/jobs")

    with context.expect_page() as opened:
        page.get_by_role("button", name="Open the run of MLflow of train-digits").click()

    opened.value.wait_for_url(re.compile(f"/runs/{run_dir.parent.name}"), timeout=PAGE_TIMEOUT_MS)
    expect(opened.value.get_by_text("accuracy").first).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    picture(page, "mlflow-in-runs")


def test_nobody_else_reaches_its_socket_and_it_listens_on_no_port(server, logged):
    open_page(server, "mlruns")
    pids = descendants(server.process.pid)
    sockets = [path for path in server.tmp_dir.rglob("*") if path.is_socket()]
    assert len(sockets) >= 2, "that of kernels, and that of MLflow"

    for socket in sockets:
        argv = ["curl", "--silent", "--max-time", "5", "--unix-socket", str(socket), "http://x/"]
        stranger = subprocess.run(argv, user=ANOTHER_USER, extra_groups=[], check=False)
        assert stranger.returncode == 7, "curl could not connect"
    ports = sockets_of(pids) & listening_inodes()
    assert not ports


@pytest.mark.parametrize("route", ["get-artifact", "get-%61rtifact", "get%2Dartifact"])
def test_a_page_of_a_run_may_not_act_in_the_users_name(server, logged, route):
    url = open_page(server, "mlruns")["url"]
    (run,) = (server.root / "mlruns/0").glob("*/artifacts/note.txt")
    question = f"{route}?path=note.txt&run_uuid={run.parts[-3]}"

    # As it is: requests would decode the path.
    request = requests.Request("GET", f"{server.host}{url}", headers=server.http.headers).prepare()
    request.url = f"{server.host}{url}{question}"
    answer = server.http.send(request, timeout=60)

    assert answer.text == "kept"
    assert answer.headers["Content-Security-Policy"] == "sandbox allow-scripts"


def test_none_outlives_a_notebook_server_that_is_killed(server, logged):
    open_page(server, "mlruns")
    pids = [pid for pid in descendants(server.process.pid) if is_mlflow(pid)]
    assert pids

    server.kill()

    eventually(lambda: not any(is_alive(pid) for pid in pids), timeout_s=30)


def is_mlflow(pid: int) -> bool:
    return b"viewers/mlflow/process.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
