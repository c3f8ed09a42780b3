"""Jobs and job files of `dsportal job new`, on the real Slurm."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.support.eventually import eventually
from tests.support.linked_environment import link_environment
from tests.templates.conftest import ENVIRONMENTS, SlurmSession

pytestmark = pytest.mark.cluster

DSPORTAL = ENVIRONMENTS / "server" / "bin" / "dsportal"

TRAIN = """
import sys
import torch, torch.distributed as dist
from beside import WORD

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print(WORD, sys.argv[1:], "sum", int(total), flush=True)
"""


# By kernel: code that uses the parameter, and what it prints.
NOTEBOOKS = {
    "tensorflow": (
        ["lr = 0.1", "import tensorflow as tf; print('twice', float(tf.constant(lr) * 2))"],
        "twice 1.0",
    ),
    "ir": (["lr <- 0.1", "cat('twice', lr * 2, '\\n')"], "twice 1"),
    "own-mine": (
        ["lr = 0.1", "import sys; print('twice', lr * 2, 'in', sys.prefix.split('/')[-1])"],
        "twice 1.0 in mine",
    ),
}


@pytest.fixture(scope="module")
def own_environment(session: SlurmSession) -> None:
    """An environment that the user has made and added."""
    link_environment(session.working_dir / "mine", ENVIRONMENTS / "pytorch", "ipykernel")
    registry = session.working_dir / ".config/data-scientist-portal/environments.toml"
    registry.parent.mkdir(parents=True)
    registry.write_text(f'[mine]\nvirtualenv = "{session.working_dir}/mine"\n')
    folders = (registry.parent.parent, session.working_dir / "mine")
    subprocess.run(["chown", "-R", "--no-dereference", session.user, *folders], check=True)


def as_user(session: SlurmSession, folder: Path, *words: object) -> str:
    """Run a program as a user in a shell on the head node; return what it printed."""
    for path in (folder, *folder.iterdir()):
        os.chown(path, session.working_dir.stat().st_uid, session.working_dir.stat().st_gid)
    done = subprocess.run(
        ["/usr/sbin/runuser", "--preserve-environment", "-u", session.user, "--", *map(str, words)],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(session.working_dir)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("own_environment")
@pytest.mark.parametrize("kernel", NOTEBOOKS)
def test_a_notebook_runs_to_its_end_with_its_parameters_in_its_own_kernel(
    session: SlurmSession, kernel: str
) -> None:
    folder = session.working_dir / f"notebook-{kernel}"
    folder.mkdir()
    sources, printed = NOTEBOOKS[kernel]
    write_notebook(folder, kernel, sources)

    options = ["--gpus", "1", "--hours", "0.1", "--output", "train.job"]
    as_user(session, folder, DSPORTAL, "job", "new", *options, "train.ipynb", "-p", "lr=0.5")
    as_user(session, folder, "sbatch", "train.job")
    result = eventually(lambda: next(folder.glob("train-*.json"), None), timeout_s=120)
    assert json.loads(result.read_text())["state"] == "done", result.read_text()
    (executed,) = folder.glob("train-*.ipynb")
    assert printed in executed.read_text()
    log = executed.with_suffix(".log").read_text()
    assert printed in log
    assert "unknown parameter" not in log


def write_notebook(folder: Path, kernel: str, sources: list[str]) -> None:
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
    notebook.cells[0].metadata["tags"] = ["parameters"]
    notebook.metadata["kernelspec"] = {"name": kernel, "display_name": kernel}
    nbformat.write(notebook, folder / "train.ipynb")


def result_of(folder: Path) -> dict[str, Any]:
    """Wait for the end of the one notebook that runs, and forget its files."""
    result = eventually(lambda: next(folder.glob("train-*.json"), None), timeout_s=120)
    said: dict[str, Any] = json.loads(result.read_text())
    for path in folder.glob("train-*"):
        path.unlink()
    return said


def daily_jobs(user: str, state: str) -> set[str]:
    """Return the ids of a user's jobs in a state that say that they run every day."""
    lines = slurm("squeue", "--noheader", f"--user={user}", f"--states={state}", "--format=%i %k")
    jobs = dict(line.split(" ", 1) for line in lines.splitlines())
    return {job for job, comment in jobs.items() if "dsportal: every day at " in comment}


def slurm(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_a_notebook_runs_again_after_a_failure_but_not_after_its_user_has_cancelled_it(
    session: SlurmSession,
) -> None:
    folder = session.working_dir / "again"
    folder.mkdir()
    write_notebook(folder, "python3", ["import os; print(sorted(os.environ))", "1/0"])
    every = ("job", "new", "--hours", "0.1", "--every", "day", "train.ipynb")
    as_user(session, folder, "env", "JUPYTERHUB_API_TOKEN=secret", DSPORTAL, *every)
    assert result_of(folder)["failed_cell"]["source"] == "1/0"

    (second,) = eventually(lambda: daily_jobs(session.user, "PENDING"), timeout_s=30)
    assert "JUPYTERHUB" not in slurm("scontrol", "write", "batch_script", second, "-")
    write_notebook(folder, "python3", ["import time; time.sleep(100)"])
    slurm("scontrol", "update", f"JobId={second}", "StartTime=now")
    (third,) = eventually(lambda: daily_jobs(session.user, "PENDING") - {second}, timeout_s=60)
    eventually(lambda: next(folder.glob("train-*.log"), None), timeout_s=60)
    as_user(session, folder, "scancel", second)
    assert result_of(folder)["state"] == "stopped"

    slurm("scontrol", "update", f"JobId={third}", "StartTime=now")
    eventually(lambda: not daily_jobs(session.user, "PENDING,RUNNING,COMPLETING"), timeout_s=60)
    assert not list(folder.glob("train-*"))


def test_a_script_trains_on_two_nodes_without_a_notebook(session: SlurmSession) -> None:
    folder = session.working_dir / "job"
    folder.mkdir()
    folder.joinpath("train.py").write_text(TRAIN)
    folder.joinpath("beside.py").write_text("WORD = 'beside'\n")
    options = ["--gpus", "2", "--nodes", "2", "--hours", "0.1", "--with", "torch"]
    said = as_user(session, folder, DSPORTAL, "job", "new", *options, "train.py", "--epochs", "3")
    assert f"Its output: {folder}/train-" in said
    output = eventually(lambda: next(folder.glob("train-*.out"), None), timeout_s=60)
    eventually(lambda: "sum" in output.read_text(), timeout_s=90)

    assert "beside ['--epochs', '3'] sum 2\n" in output.read_text()
