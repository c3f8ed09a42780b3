"""The list of runs reads what `dsportal` writes."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from dsportal.task.folder import RunFolder
from dsportal.task.folders import create_folder
from dsportal.task.plan import End
from dsportal.task.throughput import Throughput
from portal.server.jobs.run_folder import (
    MlflowRun,
    RunRecord,
    measure_folder,
    read_record,
    write_label,
)
from tests.support import plans

PLAN = replace(plans.PLAN, n_ranks=4, working_dir="/home/ada", n_nodes=2)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    (tmp_path / "portal-runs").mkdir()
    now = datetime(2026, 11, 23, 4, 5, 6)
    folder = create_folder("train-digits", now, tmp_path / "portal-runs")
    write_plan(folder, notebook=str(tmp_path / "work/a b.ipynb"))
    return folder


def read(folder: RunFolder) -> RunRecord:
    record = read_record(folder.path)
    assert record is not None
    return record


def test_a_run_that_goes_on_has_a_shape_and_progress(folder: RunFolder) -> None:
    assert read(folder).progress is None
    folder.write_throughput(
        Throughput(
            step=3, n_steps=8, images_per_s=120.5, loss=0.25, behind=(0, 1), silent_s=(0.0, 0.0)
        )
    )
    folder.write_job_id(17)
    record = read(folder)
    assert (record.function, record.n_gpus, record.n_nodes) == ("train-digits", 4, 2)
    assert (record.job_id, record.end, record.words) == ("17", "", "")
    assert record.continues == "20261120-203845-train-hyez"
    assert record.progress is not None
    progress = record.progress
    assert (progress.step, progress.n_steps, progress.images_per_s) == (3, 8, 120.5)
    assert progress.loss == 0.25


def test_a_run_that_is_done_has_its_result_in_words(folder: RunFolder) -> None:
    folder.write_result(0, {"accuracy": 0.98})
    folder.write_end(End(status=0))
    assert (read(folder).end, read(folder).words) == ("done", "{'accuracy': 0.98}")


def test_the_notebook_is_where_the_file_browser_finds_it(folder: RunFolder) -> None:
    assert read(folder).notebook == "work/a b.ipynb"
    for elsewhere in ("", "/isilon/a.ipynb"):
        write_plan(folder, notebook=elsewhere)
        assert read(folder).notebook == ""


def write_plan(folder: RunFolder, *, notebook: str) -> None:
    earlier = "20261120-203845-train-hyez"
    folder.write_plan(replace(PLAN, notebook=notebook, continues=earlier))


def test_a_run_that_is_done_says_how_long_it_took(folder: RunFolder) -> None:
    assert read(folder).done == ""
    folder.write_end(End(status=0, seconds=31.4, progress="Done, 8 steps in 31 s"))
    assert (read(folder).seconds, read(folder).done) == (31.4, "Done, 8 steps in 31 s")


def test_a_long_result_is_shortened(folder: RunFolder) -> None:
    folder.write_result(0, list(range(100_000)))
    folder.write_end(End(status=0))
    assert read(folder).words == "[0, 1, 2, 3, 4, 5, ...]"


def test_a_result_without_words_has_its_type(folder: RunFolder) -> None:
    folder.write_result(0, Mute())
    folder.write_end(End(status=0))
    assert "Mute" in read(folder).words


def test_a_run_that_failed_says_why_as_its_cell_does(folder: RunFolder) -> None:
    folder.write_end(End(status=1, reason="ValueError: no such label\nThis was rank 1 of 2."))
    assert read(folder).end == "failed"
    assert read(folder).words == "ValueError: no such label\nThis was rank 1 of 2."


@pytest.mark.parametrize(
    ("end", "word"),
    [
        (End(status=1, was_stopped=True), "stopped"),
        (End(status=1, is_saved=True), "saved"),
    ],
)
def test_a_run_that_was_ended_is_told_from_one_that_failed(
    folder: RunFolder, end: End, word: str
) -> None:
    folder.write_end(end)
    assert (read(folder).end, read(folder).words) == (word, "")


def test_a_label_is_kept_until_it_is_removed(folder: RunFolder) -> None:
    write_label(folder.path, "first try")
    assert read(folder).label == "first try"
    write_label(folder.path, "")
    assert read(folder).label == ""


def test_what_is_no_run_is_none(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    assert read_record(tmp_path / "studies") is None
    half = tmp_path / "20261123-040506-train-abcd"
    half.mkdir()
    (half / "run.json").write_text("{")
    assert read_record(half) is None


def test_a_folder_is_measured_with_what_is_in_its_folders(folder: RunFolder) -> None:
    inner = folder.path / "checkpoints"
    inner.mkdir()
    before = measure_folder(folder.path)
    (inner / "model").write_bytes(b"x" * 100_000)
    (inner / "events.out.tfevents.1").touch()
    after = measure_folder(folder.path)
    assert after.n_bytes - before.n_bytes >= 100_000
    assert (before.has_events, after.has_events) == (False, True)


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        (
            {"tracking_uri": "file:///home/a%20b/mlruns", "experiment_id": "0", "run_id": "7f"},
            MlflowRun(folder="/home/a b/mlruns", experiment_id="0", run_id="7f"),
        ),
        ({"tracking_uri": "https://mlflow.example.org", "experiment_id": "0", "run_id": "7"}, None),
        ({"tracking_uri": "file:///home/ada/mlruns", "experiment_id": "0", "run_id": "/x"}, None),
        ({}, None),
    ],
)
def test_its_run_of_mlflow_is_told_if_a_page_can_show_it(
    folder: RunFolder, link: dict[str, str], shown: MlflowRun | None
) -> None:
    folder.mlflow_link.write_text(json.dumps(link))

    assert read(folder).mlflow == shown


class Mute:
    def __repr__(self) -> str:
        raise ValueError
