"""What a benchmark leaves behind: one JSON file with its figures, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from tests.benchmarks.machine import read_machine

CHECKOUT = Path(__file__).resolve().parents[2]
RESULTS_DIR = CHECKOUT / "docs" / "benchmarks"


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of the report.

    Attributes:
        title: What it shows.
        columns: Heads of its columns.
        rows: Its cells.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]


def write_report(
    name: str,
    *,
    title: str,
    figures: Mapping[str, float],
    words: Mapping[str, str],
    tables: Sequence[Table] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Write docs/benchmarks/NAME.json and print it as tables.

    Args:
        name: Name of the benchmark; `tests/run bench -- -k NAME` runs it.
        title: Its title.
        figures: What was measured, with units in the names.
        words: What each figure is.
        tables: More detail.
        notes: What a reader has to know.

    Returns:
        The file.
    """
    RESULTS_DIR.mkdir(parents=True, exist_ok=True)
    path = RESULTS_DIR / f"{name}.json"
    report = {
        "title": title,
        "machine": asdict(read_machine()),
        "date": date.today().isoformat(),
        "command": f"tests/run bench -- -k {name}",
        "figures": dict(figures),
        "words": dict(words),
        "tables": [asdict(table) for table in tables],
        "notes": list(notes),
    }
    path.write_text(json.dumps(report, indent=2) + "\n")
    for table in tables:
        print(f"\n{table.title}")
        for row in (table.columns, *table.rows):
            print("  " + "  ".join(f"{cell!s:>16}" for cell in row))
    for figure, value in figures.items():
        print(f"{figure:>32} {value}")
    return path
