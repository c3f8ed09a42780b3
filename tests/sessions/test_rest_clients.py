"""Programs of others, and the guide's own examples, against a session of the real portal."""

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from docs.make_rest import SPEC
from tests.lab.foreign.guide import steps_of
from tests.sessions.test_laptop import NOTEBOOK
from tests.support.portal_client import ADDRESS, PortalClient, sessions_of

pytestmark = pytest.mark.cluster

USER = "ada"
GUIDE = (Path(__file__).parents[2] / "docs/use/programs.md").read_text(encoding="utf-8")
# The same as what the guide does with nbclient.
PAPERMILL = """
import papermill

given = {"kernel_manager_class": remote, "parameters": {"lr": 0.5}}
papermill.execute_notebook("train.ipynb", "again.ipynb", **given)
"""
# A client that interrupts what it sees begin; its kernel stays where it is.
LENT = """
import asyncio

class Impatient(NotebookClient):
    def process_message(self, message, cell, cell_index):
        if message["content"].get("text") == "there\\n":
            self.interrupt = asyncio.ensure_future(self.km.interrupt_kernel())
        return super().process_message(message, cell, cell_index)

cells = [
    "held = 1",
    "%%gpu 1\\nheld = 2\\nprint('there', flush=True)\\nimport time; time.sleep(600)",
    "import os; print(held, os.environ['SLURM_JOB_ID'])",
]
made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
given = {"kernel_manager_class": remote, "kernel_name": "python3", "allow_errors": True}
Impatient(made, **given).execute()
nbformat.write(made, "lent.ipynb")
"""
# The client that a public generator makes of openapi.yml.
START_AND_STOP = """
import os, time
from client import AuthenticatedClient
from client.api.sessions import start_session, stop_session
from client.api.a_session import get_session
from client.models import Options

me = os.environ["ME"]
portal = AuthenticatedClient(os.environ["PORTAL"], os.environ["TOKEN"], prefix="token")
started = start_session.sync_detailed(me, client=portal, body=Options(gpus=1, hours=1.0))
assert started.status_code in (201, 202), started
for _ in range(60):
    answer = get_session.sync_detailed(me, client=portal)
    if answer.status_code == 200:
        break
    time.sleep(1)
print("left", answer.parsed)
assert stop_session.sync_detailed(me, client=portal).status_code in (202, 204)
"""


@pytest.fixture
def ada() -> Iterator[dict[str, str]]:
    """Yield the environment of a program of ada's."""
    client = PortalClient(USER)
    client.login().raise_for_status()
    token = client.token()
    client.stop(token)
    yield {**os.environ, "PORTAL": ADDRESS, "ME": USER, "TOKEN": token}
    client.stop(token)


@pytest.fixture
def running(ada: dict[str, str]) -> dict[str, str]:
    PortalClient(USER).start(ada["TOKEN"], gpus=1)
    return ada


def examples(title: str) -> str:
    """Return the Python of a section of the guide."""
    section = GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S))


def run(*argv: str, folder: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(
        argv, cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_commands_of_the_guide_start_and_stop_a_session(
    ada: dict[str, str], tmp_path: Path
) -> None:
    (step,) = steps_of(GUIDE, {"the guide": "the guide"})

    run("bash", "-ec", "\n".join(step.commands), folder=tmp_path, environ=ada)

    PortalClient(USER).stop(ada["TOKEN"])


def test_the_python_of_the_guide_starts_a_session_and_reads_its_time(
    ada: dict[str, str], tmp_path: Path
) -> None:
    said = run(sys.executable, "-c", examples("Python"), folder=tmp_path, environ=ada)

    assert re.fullmatch(r"2[0-9]{4}(\.[0-9]+)? seconds are left\n", said)


def test_a_notebook_of_the_laptop_runs_in_the_session(
    running: dict[str, str], tmp_path: Path
) -> None:
    (job,) = sessions_of(USER)
    notebook = nbformat.from_dict(NOTEBOOK)
    notebook.cells[-1].source = "import os; print(lr, os.environ['SLURM_JOB_ID'])"
    nbformat.write(notebook, tmp_path / "train.ipynb")

    python = examples("A notebook of yours, run in the session")
    run(sys.executable, "-c", f"{python}\n{PAPERMILL}", folder=tmp_path, environ=running)

    made = nbformat.read(tmp_path / "trained.ipynb", as_version=4)
    assert made.cells[-1].outputs[0].text == f"0.0 {job.job_id}\n"
    made = nbformat.read(tmp_path / "again.ipynb", as_version=4)
    assert made.cells[-1].outputs[0].text == f"0.5 {job.job_id}\n"


def test_a_cell_of_such_a_notebook_has_a_gpu_of_its_own_and_is_interrupted(
    running: dict[str, str], tmp_path: Path
) -> None:
    (job,) = sessions_of(USER)
    nbformat.write(nbformat.from_dict(NOTEBOOK), tmp_path / "train.ipynb")

    python = examples("A notebook of yours, run in the session")
    run(sys.executable, "-c", f"{python}\n{LENT}", folder=tmp_path, environ=running)

    made = nbformat.read(tmp_path / "lent.ipynb", as_version=4)
    shown = [output for cell in made.cells for output in cell.outputs]
    assert "there\n" in [output.get("text") for output in shown]
    assert "KeyboardInterrupt" in str(made.cells[1].outputs)
    assert shown[-1].text == f"2 {job.job_id}\n"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with clients of others, from the index."""
    folder = tmp_path_factory.mktemp("clients")
    venv.create(folder, with_pip=True)
    packages = ("openapi-python-client", "jupyter-kernel-client")
    subprocess.run([folder / "bin/pip", "install", "--quiet", *packages], check=True)
    return folder / "bin/python"


@pytest.mark.release
def test_a_client_that_is_generated_from_the_description_starts_and_stops_a_session(
    ada: dict[str, str], python: Path, tmp_path: Path
) -> None:
    generator = python.with_name("openapi-python-client")
    to = ("--output-path", str(tmp_path / "client"), "--meta", "none")
    made = run(str(generator), "generate", "--path", str(SPEC), *to, folder=tmp_path, environ=ada)
    assert "WARNING parsing" not in made

    said = run(str(python), "-c", START_AND_STOP, folder=tmp_path, environ=ada)

    assert "left_s" in said


@pytest.mark.release
def test_a_client_of_kernels_runs_a_cell(
    running: dict[str, str], python: Path, tmp_path: Path
) -> None:
    said = run(
        str(python), "-c", examples("Cells from a program"), folder=tmp_path, environ=running
    )

    assert "'42'" in said
