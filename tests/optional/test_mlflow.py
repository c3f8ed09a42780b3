"""MLflow in its optional environment: a training of digits logs to it, and its page shows it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect  # noqa: E402

from tests.server.test_pages import chromium, picture  # noqa: E402, F401
from tests.server.test_web_tools import ANOTHER_USER, USER  # noqa: E402
from tests.support.kernels import run_cell  # noqa: E402
from tests.support.notebook_server import TOKEN, NotebookServer, descendants  # noqa: E402
from tests.support.tensorboard_contract import listening_inodes, sockets_of  # noqa: E402

PAGE_TIMEOUT_MS = 120_000
TRAINING = """
import mlflow
from portal.launch.worker.progress import report
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
            "PORTAL_SETTINGS": json.dumps({"mlflow_python": str(mlflow_python)}),
            "TMPDIR": str(folder / "tmp"),
        }
        server = NotebookServer(folder, tensorboard_python, environ=environ, user_id=USER)
        yield server
        server.stop()


def address_of(server: NotebookServer) -> str:
    (tool,) = server.http.get(f"{server.host}/user/ada/portal/api/tools", timeout=30).json()
    assert tool["title"] == "MLflow"
    return server.host + str(tool["url"])


@pytest.fixture(scope="module")
def logged(server, mlflow_python):
    # As a cell does in a kernel whose environment has mlflow.
    program = f"import subprocess as s; print(s.run({[str(mlflow_python), '-c', TRAINING]!r},"
    program += " capture_output=True, text=True))"
    return asyncio.run(run_cell(server, "python3", program))


def test_a_training_logs_to_the_folder_in_the_home(server, logged):
    assert f"reported 1 1.0 logged to file://{server.root}/mlruns" in logged


def test_a_training_of_digits_shows_on_the_page(server, logged, chromium):  # noqa: F811
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/api/status?token={TOKEN}")

    page.goto(f"{address_of(server)}#/experiments/0/runs", timeout=PAGE_TIMEOUT_MS)

    run = page.get_by_role("link", name="digits-of-ada")
    expect(run.first).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    picture(page, "mlflow-runs")
    run.first.click()
    expect(page.get_by_text("accuracy").first).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    picture(page, "mlflow-run")
    context.close()


def test_nobody_else_reaches_its_socket_and_it_listens_on_no_port(server, logged):
    server.http.get(address_of(server), timeout=120).raise_for_status()
    pids = descendants(server.process.pid)
    sockets = [path for path in server.tmp_dir.rglob("*") if path.is_socket()]
    assert len(sockets) >= 2, "that of kernels, and that of MLflow"

    for socket in sockets:
        argv = ["curl", "--silent", "--max-time", "5", "--unix-socket", str(socket), "http://x/"]
        stranger = subprocess.run(argv, user=ANOTHER_USER, extra_groups=[], check=False)
        assert stranger.returncode == 7, "curl could not connect"
    ports = sockets_of(pids) & listening_inodes()
    assert not ports
