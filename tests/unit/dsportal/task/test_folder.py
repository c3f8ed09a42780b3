from datetime import datetime
from pathlib import Path

import pytest

from dsportal.errors import LaunchError
from dsportal.task.folder import RunFolder
from dsportal.task.folders import create_folder
from dsportal.task.plan import End, Plan

NOW = datetime(2026, 11, 20, 20, 38, 45)


def test_a_folder_is_named_after_time_and_function(tmp_path):
    folder = create_folder("train_digits", NOW, tmp_path / "portal-runs")

    assert folder.path.name.startswith("20261120-203845-train_digits-")


@pytest.mark.parametrize("name", ["<lambda>", "../../etc", "a b\n;c", "é" * 300, ""])
def test_no_name_of_a_function_leads_out_of_the_folder(tmp_path, name):
    folder = create_folder(name, NOW, tmp_path)

    assert folder.path.parent == tmp_path
    assert folder.path.name.isascii()


def test_two_runs_in_the_same_second_have_two_folders(tmp_path):
    assert create_folder("train", NOW, tmp_path) != create_folder("train", NOW, tmp_path)


def test_a_folder_that_cannot_be_made_is_explained(tmp_path):
    tmp_path.joinpath("portal-runs").write_text("a file in the way")

    with pytest.raises(LaunchError, match=r"cannot be made.*permissions"):
        create_folder("train", NOW, tmp_path / "portal-runs")


def test_the_plan_is_read_as_it_was_written(tmp_path):
    plan = Plan(
        n_ranks=2,
        cores_per_rank=8,
        simulated_gpus=True,
        working_dir="/home/ada",
        module_paths=("", "/home/ada/templates"),
        n_results=1,
    )
    folder = RunFolder(tmp_path)
    folder.write_plan(plan)

    assert folder.read_plan() == plan


def test_a_result_that_is_missing_names_the_log(tmp_path):
    with pytest.raises(LaunchError, match=r"rank 1 cannot be read.*rank-1\.log"):
        RunFolder(tmp_path).read_result(1)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ada/portal-runs/20261120-203845-train-k3v9", "20261120-203845-train-k3v9"),
        ("/home/ada/portal-runs/sweeps/lr/points/3", "lr/3"),
    ],
)
def test_the_name_of_a_run_tells_of_which_sweep_it_is(path: str, name: str) -> None:
    assert RunFolder(Path(path)).full_name == name


def test_a_run_that_slurm_starts_again_has_not_ended_and_keeps_its_checkpoints(
    tmp_path: Path,
) -> None:
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    folder.checkpoints.joinpath("state").touch()
    folder.write_end(End(status=143, was_stopped=True))
    folder.write_result(0, 1)
    for mark in (folder.saved_mark, folder.stop_mark):
        mark.touch()

    folder.forget_end()

    assert [path.name for path in tmp_path.iterdir()] == ["checkpoints"]
    assert folder.checkpoints.joinpath("state").exists()
