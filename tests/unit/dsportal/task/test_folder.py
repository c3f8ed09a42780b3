from __future__ import annotations

from datetime import datetime

import pytest

from dsportal.errors import LaunchError
from dsportal.task.folder import RunFolder
from dsportal.task.folders import create_folder
from dsportal.task.plan import Plan

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
