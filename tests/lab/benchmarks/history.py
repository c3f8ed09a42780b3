"""The history of the figures: one line of JSON for each figure of each run."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HISTORY_PATH = Path(__file__).resolve().parents[3] / "docs" / "benchmarks" / "history.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One figure of one run.

    Attributes:
        date: Day of the run, ISO 8601.
        commit: What was measured; for runs before the history began, the commit of the report.
        is_dirty: Whether the checkout had changes that are in no commit.
        benchmark: Name of the report, such as "training".
        median: Median of the rounds; without rounds the one value.
        least: Least of the rounds; None if the spread was not recorded.
        most: Most of them; None as `least`.
        rounds: How many there were; None as `least`.
    """

    date: str
    commit: str
    is_dirty: bool
    cpu: str
    benchmark: str
    figure: str
    median: float
    least: float | None = None
    most: float | None = None
    rounds: int | None = None


def entries_of(name: str, report: Mapping[str, Any]) -> list[Entry]:
    """Return the lines that a report adds to the history.

    Args:
        report: Its content: `machine`, `date`, `figures` and, where there were rounds, `spread`.
    """
    machine = report["machine"]
    spread = report.get("spread", {})
    return [
        Entry(
            date=report["date"],
            commit=machine["commit"],
            is_dirty=machine["is_dirty"],
            cpu=machine["cpu"],
            benchmark=name,
            figure=figure,
            median=value,
            **spread.get(figure, {}),
        )
        for figure, value in report["figures"].items()
    ]


def append(entries: Iterable[Entry], path: Path = HISTORY_PATH) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(entry)) + "\n" for entry in entries)


def read_history(path: Path = HISTORY_PATH) -> list[Entry]:
    """Return all lines, the oldest run first; none if there is no file."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Entry(**json.loads(line)) for line in lines]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one benchmark: its entries by the name of the figure."""

    entries: Mapping[str, Entry]

    @property
    def first(self) -> Entry:
        """Any of its entries: all have the same date, commit and processor."""
        return next(iter(self.entries.values()))


def runs_by_benchmark(entries: Iterable[Entry]) -> dict[str, list[Run]]:
    """Group the lines of the history.

    Returns:
        By benchmark, in the order of the alphabet, its runs, the oldest first.
    """
    found: dict[str, list[dict[str, Entry]]] = {}
    for entry in entries:
        runs = found.setdefault(entry.benchmark, [])
        last = next(iter(runs[-1].values())) if runs else None
        # The same commit may have been measured twice on one day.
        if last is None or _run_key(last) != _run_key(entry) or entry.figure in runs[-1]:
            runs.append({})
        runs[-1][entry.figure] = entry
    return {name: [Run(entries=run) for run in runs] for name, runs in sorted(found.items())}


def _run_key(entry: Entry) -> tuple[str, str, bool, str]:
    return entry.date, entry.commit, entry.is_dirty, entry.cpu
