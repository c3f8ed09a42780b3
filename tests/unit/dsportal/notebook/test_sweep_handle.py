"""What is said of a sweep that is stopped; how its points end is in tests/programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dsportal.launch import commands
from dsportal.notebook.sweep_handle import Sweep
from dsportal.notebook.sweep_table import Goal
from dsportal.task.folder import RunFolder
from dsportal.task.sweep_folder import SweepFolder


@pytest.mark.parametrize(
    ("status", "stderr", "is_stopped"),
    [
        (0, "", True),
        (1, "scancel: error: Kill job error on job id 7: Invalid job id specified", True),
        (1, "scancel: error: Unable to contact slurm controller", False),
        (None, "", False),
    ],
)
def test_a_sweep_is_called_stopped_only_if_slurm_has_heard_of_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: int | None,
    stderr: str,
    is_stopped: bool,
) -> None:
    done = None if status is None else subprocess.CompletedProcess([], status, "", stderr)
    monkeypatch.setattr(commands, "_slurm", lambda _: done)
    RunFolder(tmp_path).write_job_id(7)

    Sweep(SweepFolder(tmp_path), [{"lr": 0.1}], Goal(metric="", is_smallest=False)).stop()

    said = capsys.readouterr().out
    assert said.startswith("Stopped." if is_stopped else "Slurm does not say yet that job 7 has")
