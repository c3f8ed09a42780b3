import json
from pathlib import Path

import pytest

from dsportal.task.stopping import MedianStopping
from dsportal.task.sweep_folder import SweepFolder, SweepRecord, all_sweeps

RECORD = SweepRecord(function="train", source="ab", points=("lr=1", "lr=2"), metric="loss")
POINTS = [{"lr": 1}, {"lr": 2}]


def test_what_a_sweep_sweeps_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path)

    folder.write(RECORD, POINTS, MedianStopping())

    assert folder.read_record() == RECORD
    assert folder.read_points() == POINTS
    assert folder.read_rule() == MedianStopping()


def test_a_sweep_stops_no_points_unless_it_was_told_to(tmp_path: Path) -> None:
    SweepFolder(tmp_path).write(RECORD, POINTS, None)

    assert SweepFolder(tmp_path).read_rule() is None


def test_the_losses_of_points_that_have_reported_none_are_empty(tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path)
    folder.run(1).path.mkdir(parents=True)

    folder.write_losses(1, {0: 2.5, 5: float("nan")})

    none, losses = folder.read_losses(2)
    assert none == {}
    assert losses[0] == 2.5
    assert losses[5] != losses[5]


def test_the_arrays_of_a_sweep_are_those_of_this_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cluster, job_id in (("kepler", 7), ("volta", 8)):
        monkeypatch.setenv("SLURM_CLUSTER_NAME", cluster)
        SweepFolder(tmp_path).add_job(job_id)

        assert SweepFolder(tmp_path).read_jobs() == [job_id]


def test_only_folders_of_sweeps_are_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    parent = tmp_path / "portal-runs/sweeps"
    for name, text in (("lr", ""), ("old", json.dumps(["lr=1"])), ("empty", None)):
        (parent / name).mkdir(parents=True)
        if text:
            (parent / name / "sweep.json").write_text(text)
    SweepFolder(parent / "lr").write(RECORD, POINTS, None)

    assert [(folder.name, record) for folder, record in all_sweeps()] == [("lr", RECORD)]


@pytest.mark.parametrize(
    ("name", "title"), [("20261120-203845-train-k3v9", "train-k3v9"), ("lr", "lr")]
)
def test_a_sweep_has_a_short_name(name: str, title: str) -> None:
    assert SweepFolder(Path("/home/ada/portal-runs/sweeps", name)).title == title
