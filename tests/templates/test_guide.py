"""The shell steps of the users' guide, as somebody types them into a terminal of a session."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lab.foreign.guide import steps_of
from tests.support.eventually import eventually
from tests.templates.conftest import ENVIRONMENTS, SlurmSession

pytestmark = pytest.mark.cluster

USE = Path(__file__).parents[2] / "docs/use"
PAGES = ("batch-jobs.md", "packages.md")
TEMPLATES = Path("/opt/data-scientist-portal/templates")
# Becomes the shell of a terminal, in the environment that the notebook server gives it.
TERMINAL = """
import os, sys
from pathlib import Path
from portal.environments.probe import probe_node
from portal.server.base.commands import offer_commands, offer_modules, terminal_shell
from portal.server.base.inherited_environment import prepare_environment

offer_commands(os.environ, Path(sys.prefix))
offer_modules(os.environ, probe_node(os.environ).module_init)
prepare_environment(os.environ)
argv = [*terminal_shell("/bin/bash"), sys.argv[1]]
os.execv(argv[0], argv)
"""
TRAIN = """
import sys
import torch

print("trained with", torch.__name__, sys.argv[1:])
"""


@pytest.fixture(scope="module")
def walked(session: SlurmSession) -> str:
    """What the terminal showed while its user followed the guide."""
    folder = session.working_dir
    (folder / "train.py").write_text(TRAIN)
    shutil.copytree(TEMPLATES / "slurm", folder / "templates/slurm")
    lines = ["set -e"]
    guide = "".join((USE / page).read_text(encoding="utf-8") for page in PAGES)
    for step in steps_of(guide, {"the guide": "the guide"}):
        lines += [f"echo {shlex.quote(f'== {step.section}')}", "cd", *step.commands]
    (folder / "walk.sh").write_text("\n".join(lines) + "\n")
    owner = folder.stat()
    for path in folder.rglob("*"):
        if not path.is_symlink():
            os.chown(path, owner.st_uid, owner.st_gid)
    python = ENVIRONMENTS / "server/bin/python"
    job = session.submit(f"{python} -c {shlex.quote(TERMINAL)} walk.sh 2>&1", "echo STATUS $?")
    walked = session.output_of(job)
    train = re.findall(r"(?:batch|as) job (\d+)", section(walked, "Train without a notebook"))
    shown = "".join(
        subprocess.run(
            ["scontrol", "show", "job", each], capture_output=True, text=True, check=False
        ).stdout
        for each in train
    )
    # They ask for all GPUs of the demo, which the sample job waits for.
    subprocess.run(["scancel", *train], check=False)
    return f"{walked}\n== Slurm\n{shown}"


def section(walked: str, title: str) -> str:
    """Return what the blocks of a section showed, of which there may be several."""
    return "".join(re.findall(rf"^== {title}\n(.*?)(?=^== |\Z)", walked, re.M | re.S))


def test_every_step_works(walked: str) -> None:
    assert "\nSTATUS 0\n" in walked, walked


def test_python_in_a_terminal_is_that_of_the_kernel(walked: str) -> None:
    assert "trained with torch []" in section(walked, "Python in a terminal")


def test_the_sample_job_runs_on_a_gpu_of_its_own(session: SlurmSession, walked: str) -> None:
    assert "Submitted batch job" in section(walked, "Submit a job script")
    folder = session.working_dir / "templates/slurm"
    output = eventually(lambda: next(folder.glob("slurm-*.out"), None), timeout_s=120)

    eventually(lambda: "task 0 of 1 on " in output.read_text(), timeout_s=120)


def test_a_job_is_the_same_whether_it_is_queued_at_once_or_by_its_file(
    session: SlurmSession, walked: str
) -> None:
    jobs = section(walked, "Slurm")

    assert jobs.count("NumNodes=2") == 2
    assert jobs.count(f"WorkDir={session.working_dir}\n") == 2
