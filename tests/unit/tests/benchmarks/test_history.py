"""The history has a line for each figure of each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.benchmarks.history import (
    append,
    entries_of,
    read_history,
    runs_by_benchmark,
)

REPORT: dict[str, Any] = {
    "date": "2026-11-22",
    "machine": {"commit": "cefa8c9", "is_dirty": True, "cpu": "AMD EPYC"},
    "figures": {"ratio": 1.01, "size_mb": 50.5},
    "spread": {"ratio": {"least": 0.99, "most": 1.02, "rounds": 5}},
}


def test_what_is_appended_is_read_again_with_commit_processor_and_spread(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    assert read_history(path) == []

    append(entries_of("training", REPORT), path)
    append(entries_of("training", REPORT), path)

    assert len(path.read_text().splitlines()) == 4
    ratio, size, *again = read_history(path)
    assert (ratio.commit, ratio.is_dirty, ratio.cpu) == ("cefa8c9", True, "AMD EPYC")
    assert (ratio.median, ratio.least, ratio.most, ratio.rounds) == (1.01, 0.99, 1.02, 5)
    assert (size.figure, size.least) == ("size_mb", None)
    assert again == [ratio, size]


def test_two_runs_of_one_commit_on_one_day_stay_two_runs() -> None:
    entries = entries_of("training", REPORT)

    runs = runs_by_benchmark([*entries, *entries, *entries_of("pages", REPORT)])

    assert {name: len(found) for name, found in runs.items()} == {"pages": 1, "training": 2}
    assert [list(run.entries) for run in runs["training"]] == [["ratio", "size_mb"]] * 2
