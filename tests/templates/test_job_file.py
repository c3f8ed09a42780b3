"""A job file of `dsportal job new`, given to the real sbatch."""

import json
import os
import subprocess
from pathlib import Path

import nbformat
import pytest

from tests.support.eventually import eventually
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
}


def as_user(session: SlurmSession, folder: Path, *words: object) -> str:
    """Run a program as a user in a shell on the head node; return what it printed."""
    for path in (folder, *folder.iterdir()):
        os.chown(path, session.working_dir.stat().st_uid, session.working_dir.stat().st_gid)
    done = subprocess.run(
        ["/usr/sbin/runuser", "-u", session.user, "--", *map(str, words)],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(session.working_dir)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kernel", NOTEBOOKS)
def test_a_notebook_runs_to_its_end_with_its_parameters_in_its_own_kernel(
    session: SlurmSession, kernel: str
) -> None:
    folder = session.working_dir / f"notebook-{kernel}"
    folder.mkdir()
    sources, printed = NOTEBOOKS[kernel]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
    notebook.cells[0].metadata["tags"] = ["parameters"]
    notebook.metadata["kernelspec"] = {"name": kernel, "display_name": kernel}
    nbformat.write(notebook, folder / "train.ipynb")

    options = ["--gpus", "1", "--hours", "0.1"]
    as_user(session, folder, DSPORTAL, "job", "new", *options, "train.ipynb", "-p", "lr=0.5")
    as_user(session, folder, "sbatch", "train.job")
    result = eventually(lambda: next(folder.glob("train-*.json"), None), timeout_s=120)
    (executed,) = folder.glob("train-*.ipynb")

    assert json.loads(result.read_text())["state"] == "done", result.read_text()
    assert printed in executed.read_text()
    assert printed in executed.with_suffix(".log").read_text()


def test_a_script_trains_on_two_nodes_without_a_notebook(session: SlurmSession) -> None:
    folder = session.working_dir / "job"
    folder.mkdir()
    folder.joinpath("train.py").write_text(TRAIN)
    folder.joinpath("beside.py").write_text("WORD = 'beside'\n")
    options = ["--gpus", "2", "--nodes", "2", "--hours", "0.1", "--with", "torch"]
    as_user(session, folder, DSPORTAL, "job", "new", *options, "train.py", "--epochs", "3")
    as_user(session, folder, "sbatch", "train.job")
    output = eventually(lambda: next(folder.glob("train-*.out"), None), timeout_s=60)
    eventually(lambda: "sum" in output.read_text(), timeout_s=90)

    assert "beside ['--epochs', '3'] sum 2\n" in output.read_text()
