"""A job file of `dsportal job new`, given to the real sbatch."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.eventually import eventually
from tests.templates.conftest import ENVIRONMENTS, SlurmSession

pytestmark = pytest.mark.cluster

TRAIN = """
import sys
import torch, torch.distributed as dist
from beside import WORD

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print(WORD, sys.argv[1:], "sum", int(total), flush=True)
"""


def test_a_script_trains_on_two_nodes_without_a_notebook(session: SlurmSession) -> None:
    folder = session.working_dir / "job"
    folder.mkdir()
    folder.joinpath("train.py").write_text(TRAIN)
    folder.joinpath("beside.py").write_text("WORD = 'beside'\n")
    for path in (folder, *folder.iterdir()):
        os.chown(path, session.working_dir.stat().st_uid, session.working_dir.stat().st_gid)
    dsportal = ENVIRONMENTS / "server" / "bin" / "dsportal"
    options = ["--gpus", "2", "--nodes", "2", "--hours", "0.1", "--with", "torch"]
    as_user = ["/usr/sbin/runuser", "-u", session.user, "--"]
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(session.working_dir)}

    def run(*words: object) -> str:
        done = subprocess.run(
            [*as_user, *map(str, words)],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(dsportal, "job", "new", *options, "train.py", "--epochs", "3")
    run("sbatch", "train.job")
    output = eventually(lambda: next(folder.glob("train-*.out"), None), timeout_s=60)
    eventually(lambda: "sum" in output.read_text(), timeout_s=90)

    assert "beside ['--epochs', '3'] sum 2\n" in output.read_text()
