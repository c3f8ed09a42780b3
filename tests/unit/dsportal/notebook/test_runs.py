"""The list of a user's runs."""

import os
from pathlib import Path

import pytest

from dsportal.launch import commands
from dsportal.notebook.runs import runs, runs_of_session


def test_of_two_runs_of_the_same_second_the_later_one_is_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    names = (
        "20261122-183844-wait-s83b",
        "20261122-183844-detached-ab12",
        "20261122-183843-zoom-cd34",
    )
    for began_s, name in zip((100, 101, 99), names, strict=True):
        plan = tmp_path / "portal-runs" / name / "run.json"
        plan.parent.mkdir(parents=True)
        plan.write_text("{}")
        os.utime(plan, (began_s, began_s))

    assert [run.id for run in runs()] == [names[1], names[0], names[2]]


def test_runs_of_the_same_session_are_those_whose_steps_run_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    asked: list[int] = []

    def step_names(job_id: int) -> set[str]:
        asked.append(job_id)
        return {"20261122-183844-going-s83b", "20261122-183847-new-cd34"}

    monkeypatch.setattr(commands, "step_names", step_names)
    names = {
        "20261122-183844-going-s83b": {},
        "20261122-183845-lost-ab12": {},
        "20261122-183846-other-job-ef56": {"job.json": '{"job_id": 9}'},
        "20261122-183847-new-cd34": {},
    }
    for name, files in names.items():
        folder = tmp_path / "portal-runs" / name
        folder.mkdir(parents=True)
        for file, text in {"run.json": "{}", **files}.items():
            (folder / file).write_text(text)

    found = runs_of_session(7, but="20261122-183847-new-cd34")

    assert [run.id for run in found] == ["20261122-183844-going-s83b"]
    assert asked == [7]


def test_slurm_is_not_asked_if_no_other_run_can_be_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(commands, "step_names", lambda job_id: pytest.fail("asked"))

    assert runs_of_session(7, but="20261122-183847-new-cd34") == []
