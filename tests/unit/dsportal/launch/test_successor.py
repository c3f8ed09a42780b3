"""Each run of a job that runs again queues the next one, and only one."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from dsportal.errors import LaunchError
from dsportal.launch import commands
from dsportal.launch.successor import BEFORE, Successor

MARK = "dsportal: every day at 04:00 (0a1b2c3d)"
NOW = datetime(2026, 11, 28, 4, 0, 5)


class Slurm:
    """Answers as Slurm's commands do; None for no answer."""

    def __init__(self) -> None:
        self.waiting: Sequence[str] | None = ()
        self.ended = "COMPLETED"
        self.sbatch: tuple[int, str, str] | None = (0, "13\n", "")
        self.submitted: list[Sequence[str]] = []
        self.environ: Mapping[str, str] = {}

    def ask(
        self, argv: Sequence[str], *, environ: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str] | None:
        if argv[0] == "squeue":
            nonce = next(word for word in argv if "--format" in word).split("=")[1].split("|")[0]
            lines = None if self.waiting is None else [f"{nonce}|{one}" for one in self.waiting]
            done = None if lines is None else (0, "\n".join(lines), "")
        elif argv[0] == "sacct":
            nonce = next(word for word in argv if "--delimiter" in word).split("=")[1]
            done = (0, f"11{nonce}{self.ended}\n", "")
        else:
            self.submitted.append(argv)
            self.environ = environ
            done = self.sbatch
        return None if done is None else subprocess.CompletedProcess(argv, *done)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Slurm:
    stand_in = Slurm()
    monkeypatch.setattr(commands, "ask_slurm", stand_in.ask)
    return stand_in


@pytest.fixture
def job(tmp_path: Path) -> Successor:
    script = tmp_path / "slurm_script"
    script.write_text(f'#!/bin/bash\n#SBATCH "--comment={MARK}"\n')
    return Successor.read(script, {"SLURM_JOB_ID": "12", BEFORE: "11", "MINE": "1"})


def test_the_next_run_has_the_same_script_a_day_later_and_never_runs_beside_this_one(
    slurm: Slurm, job: Successor
) -> None:
    assert job.queue(NOW) == ""

    begin, after = "--begin=2026-11-29T04:00:00", "--dependency=afterany:12"
    assert slurm.submitted == [["sbatch", "--parsable", begin, after, str(job.script)]]
    assert slurm.environ == {"SLURM_JOB_ID": "12", BEFORE: "12", "MINE": "1"}


def test_a_next_run_that_waits_already_is_not_queued_twice(slurm: Slurm, job: Successor) -> None:
    slurm.waiting = ("", "dsportal: every day at 04:00 (ffffffff)", MARK)

    assert job.queue(NOW) == ""
    assert not slurm.submitted


def test_without_an_answer_nothing_is_queued_and_that_is_said(slurm: Slurm, job: Successor) -> None:
    slurm.waiting = None
    assert job.queue(NOW) == "Slurm is not responding."
    assert not slurm.submitted
    slurm.waiting, slurm.sbatch = (), (1, "", "sbatch: error: Unable to contact slurm controller")
    assert job.queue(NOW) == "Slurm is not responding."


def test_a_refusal_is_said_in_words(slurm: Slurm, job: Successor) -> None:
    limit = "AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates"
    slurm.sbatch = (1, "", f"sbatch: error: {limit} accounting/QOS policy (job submit limit)")

    assert "limit" in job.queue(NOW)


@pytest.mark.parametrize(
    ("ended", "is_unwanted"),
    [
        (f"CANCELLED by {os.getuid()}", True),
        (f"CANCELLED by {os.getuid() + 1}", False),
        ("FAILED", False),
        ("TIMEOUT", False),
        ("NODE_FAIL", False),
    ],
)
def test_only_a_run_that_its_user_has_cancelled_is_the_last_one(
    slurm: Slurm, job: Successor, ended: str, is_unwanted: bool
) -> None:
    slurm.ended = ended

    assert job.is_unwanted() is is_unwanted


def test_a_script_without_a_mark_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "slurm_script"
    script.write_text("#!/bin/bash\n")

    with pytest.raises(LaunchError):
        Successor.read(script, {"SLURM_JOB_ID": "12"})
