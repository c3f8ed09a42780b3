"""`dsportal gpu` in a cell of any language: it is for the kernel that runs the cell."""

import re

import pytest

from tests.sessions.test_kernel_gpus import Session, kernel_jobs, own_session
from tests.support.eventually import eventually
from tests.support.kernels import ask

pytestmark = pytest.mark.cluster
session = own_session


def open_renamed(session: Session, kernel: str) -> None:
    """Open two notebooks, and use the second, whose name changes once its kernel runs."""
    for name in ("first.ipynb", "second.ipynb"):
        wanted = {"path": name, "name": name, "type": "notebook", "kernel": {"name": kernel}}
        opened = ask(session, "POST", "api/sessions", json=wanted)
    ask(session, "PATCH", f"api/sessions/{opened['id']}", json={"path": "renamed.ipynb"})
    session.kernel = opened["kernel"]["id"]


@pytest.mark.parametrize(
    ("kernel", "call", "where"),
    [
        ("ir", "cat(system('{}', intern = TRUE))", "cat(Sys.getenv('SLURM_JOB_NAME'), kept)"),
        ("python3", "!{}", "import os; print(os.environ.get('SLURM_JOB_NAME'), kept)"),
    ],
)
def test_a_cell_gives_its_own_kernel_a_gpu_and_gives_it_back(
    session: Session, kernel: str, call: str, where: str
) -> None:
    open_renamed(session, kernel)
    session.run("kept = 7")

    assert "renamed.ipynb: no GPU, waits for 1 GPU. The job" in session.run(
        call.format("dsportal gpu 1")
    )
    session.has(1)
    assert re.fullmatch(r"kernel-of-\d+ 7\s*", session.run(where))
    assert "renamed.ipynb: 1 simulated GPU" in session.run(call.format("dsportal gpu"))
    assert "You asked for 99 GPUs" in session.run(call.format("dsportal gpu 99 2>&1 || true"))

    session.run(call.format("dsportal gpu 0"))
    session.has(0)
    shown = session.run(where)
    assert "kernel-of" not in shown
    assert shown.split()[-1] == "7"
    eventually(lambda: not kernel_jobs(), timeout_s=30)
