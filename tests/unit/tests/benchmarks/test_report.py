"""What a benchmark leaves behind, and what a rehearsal leaves out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import history, report
from tests.benchmarks.report import spread_of, write_report


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(report, "RESULTS_DIR", tmp_path / "results")
    monkeypatch.setattr(report, "REHEARSALS_DIR", tmp_path / "rehearsals")
    monkeypatch.setattr(history, "append", lambda entries: list(_kept(tmp_path, entries)))
    return tmp_path


def _kept(folder: Path, entries: list[history.Entry]) -> list[history.Entry]:
    (folder / "history").write_text(" ".join(entry.figure for entry in entries))
    return entries


def write(rounds: int) -> Path:
    return write_report(
        "training",
        title="Training",
        figures={"ratio": 1.01},
        words={"ratio": "one by the other"},
        spread={"ratio": spread_of([0.99, 1.01234, 1.02])},
        rounds=rounds,
    )


def test_a_report_has_commit_processor_flags_rounds_and_a_spread(folders: Path) -> None:
    found = json.loads(write(5).read_text())

    assert found["machine"].keys() >= {"commit", "is_dirty", "cpu", "flags", "threads_per_core"}
    assert found["rounds"] == 5
    assert found["spread"] == {"ratio": {"least": 0.99, "most": 1.02, "rounds": 3}}
    assert (folders / "history").read_text() == "ratio"


def test_a_rehearsal_is_no_part_of_the_published_figures(folders: Path) -> None:
    path = write(2)

    assert path.parent == folders / "rehearsals"
    assert not (folders / "history").exists()
