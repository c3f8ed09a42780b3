"""The list of a user's runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from portal.launch.notebook.runs import runs


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
