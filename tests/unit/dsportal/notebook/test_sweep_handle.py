"""What is said of a sweep's points without a word of their own; others are in tests/programs."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dsportal.errors import LaunchError
from dsportal.launch import array_tasks, commands
from dsportal.launch.commands import JobState
from dsportal.notebook.sweep_handle import Sweep
from dsportal.notebook.sweep_table import Goal
from dsportal.task.plan import End
from dsportal.task.sweep_folder import SweepFolder, SweepRecord, sweeps_folder
from tests.support import plans

PLAN = replace(plans.PLAN, n_ranks=2)


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
    monkeypatch.setattr(commands, "ask_slurm", lambda _: done)
    SweepFolder(tmp_path).add_job(7)

    Sweep(SweepFolder(tmp_path), [{"lr": 0.1}], Goal(metric="", is_smallest=False)).stop()

    said = capsys.readouterr().out
    assert said.startswith("Stopped." if is_stopped else "Slurm does not say yet that job 7 has")


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """A sweep with two points, which two arrays have run."""
    folder = SweepFolder(tmp_path)
    folder.add_job(7)
    folder.add_job(9)
    for index in (0, 1):
        folder.run(index).path.mkdir(parents=True)
    return Sweep(folder, [{"lr": 0.1}, {"lr": 0.2}], Goal())


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What Slurm says of the tasks of the arrays 7 and 9: that are queued, and that have ended."""
    told: dict[str, Any] = {"queued": {}, "ends": {}, "jobs": [7, 9]}

    def answer(what: str, job_ids: list[int]) -> Any:
        assert job_ids == told["jobs"]
        return told[what]

    monkeypatch.setattr(array_tasks, "task_states", lambda ids: answer("queued", ids))
    monkeypatch.setattr(array_tasks, "task_ends", lambda ids: answer("ends", ids))
    return told


def states(sweep: Sweep) -> list[str]:
    return [point.state for point in sweep.table().points]


def test_a_point_that_slurm_has_in_the_queue_again_has_not_ended(sweep, slurm) -> None:
    sweep.folder.run(0).write_end(End(status=143, was_stopped=True))
    slurm["queued"] = {0: JobState(state="PENDING"), 1: JobState(state="RUNNING")}

    assert states(sweep) == ["waiting", "running"]
    assert sweep.open_points() == []


def test_a_point_of_which_slurm_does_not_say_whether_it_is_queued_again_is_not_over(
    sweep, slurm
) -> None:
    sweep.folder.run(0).write_end(End(status=143, was_stopped=True))
    slurm["queued"] = None

    assert states(sweep) == ["unknown", "unknown"]
    assert sweep.is_under_way()


@pytest.mark.parametrize(
    ("second", "waits"), [("RUNNING", ""), ("PENDING", "are in use by other jobs")]
)
def test_a_sweep_of_which_no_point_runs_says_why(sweep, slurm, second: str, waits: str) -> None:
    for index in (0, 1):
        sweep.folder.run(index).write_plan(PLAN)
    slurm["queued"] = {
        0: JobState(state="PENDING", reason="Resources"),
        1: JobState(state=second, reason="JobArrayTaskLimit"),
    }

    said = sweep.table()

    assert waits in said.waits
    assert bool(said.waits) is bool(waits)
    assert said.waits in said.html()


def test_a_point_that_may_run_on_another_cluster_is_not_run_here_too(
    sweep, slurm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "volta")
    sweep.folder.add_job(3)
    for index in (0, 1):
        sweep.folder.run(index).write_plan(PLAN)
    sweep.folder.run(0).write_end(End(status=143, was_stopped=True))
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "kepler")
    slurm["jobs"] = []

    assert states(sweep) == ["unknown", "unknown"]
    with pytest.raises(LaunchError, match="begun on the cluster volta"):
        sweep.open_points()
    sweep.stop()
    assert "Points on the cluster volta go on." in capsys.readouterr().out

    for index in (0, 1):
        sweep.folder.run(index).write_end(End(status=1, reason="It failed."))
    assert sweep.open_points() == [0, 1], "what has failed there is run here"


def test_what_slurm_ended_says_why_and_is_run_again(sweep, slurm) -> None:
    sweep.folder.run(0).write_end(End(status=143, was_stopped=True))
    slurm["ends"] = {0: "TIMEOUT", 1: "CANCELLED"}

    first, second = sweep.table().points

    assert (first.state, second.state) == ("failed", "stopped")
    assert "time limit" in first.error
    assert sweep.open_points() == [0, 1]


def test_a_point_that_nobody_knows_is_lost_and_is_run_again(sweep, slurm) -> None:
    assert states(sweep) == ["lost", "lost"]
    assert sweep.open_points() == [0, 1]


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all sweeps, with three; the newest last."""
    monkeypatch.setenv("HOME", str(tmp_path))
    parent = sweeps_folder()
    for n, name in enumerate(("lr", "lr-2", "depth")):
        (parent / name).mkdir(parents=True)
        record = SweepRecord(function="train", source="", points=(f"n={n}",), metric="loss")
        SweepFolder(parent / name).write(record, [{"n": n}], None)
        os.utime(parent / name / "sweep.json", (n, n))
    return parent


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("", "depth"),
        ("lr", "lr"),
        ("-2", "lr-2"),
        ("~/portal-runs/sweeps/lr-2", "lr-2"),
    ],
)
def test_a_sweep_is_found_by_its_name_or_folder(three: Path, given: str, name: str) -> None:
    assert Sweep.load(given).name == name


def test_a_part_of_several_names_has_to_be_more(three: Path) -> None:
    with pytest.raises(LaunchError, match="a part of several names: lr-2, lr"):
        Sweep.load("r")


def test_what_others_may_have_written_is_not_loaded(three: Path, tmp_path: Path) -> None:
    three.joinpath("lr").rename(tmp_path / "lr")

    with pytest.raises(LaunchError, match="There is no sweep"):
        Sweep.load(tmp_path / "lr")
