"""What a benchmark leaves behind: one JSON file with its figures, and where they come from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from tests.lab.benchmarks import history
from tests.lab.benchmarks.aims import missed
from tests.lab.benchmarks.machine import read_machine

CHECKOUT = Path(__file__).resolve().parents[3]
RESULTS_DIR = CHECKOUT / "docs" / "benchmarks"
REHEARSALS_DIR = CHECKOUT / "tests" / "output" / "benchmarks"
# With fewer it is a rehearsal, which says nothing.
LEAST_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What a figure was in its rounds; the figure itself is their median."""

    least: float
    most: float
    rounds: int


def spread_of(values: Sequence[float], n_digits: int = 3) -> Spread:
    """Return the spread of a figure."""
    least, most = round(min(values), n_digits), round(max(values), n_digits)
    return Spread(least=least, most=most, rounds=len(values))


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of the report."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]


def write_report(
    name: str,
    *,
    title: str,
    figures: Mapping[str, float],
    words: Mapping[str, str],
    spread: Mapping[str, Spread] | None = None,
    rounds: int | None = None,
    tables: Sequence[Table] = (),
    notes: Sequence[str] = (),
    is_part: bool = False,
) -> Path:
    """Write docs/benchmarks/NAME.json, add its figures to the history, and print it as tables.

    Args:
        name: Name of the benchmark; `tests/run bench -- -k NAME` runs it.
        rounds: Rounds of the comparison; None if each figure says its own. With fewer than
            LEAST_ROUNDS the report goes to tests/output/benchmarks, and not into the history.
        is_part: Whether other runs measure the other figures of the report, which stay.
    """
    is_rehearsal = rounds is not None and rounds < LEAST_ROUNDS
    folder = REHEARSALS_DIR if is_rehearsal else RESULTS_DIR
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    report: dict[str, Any] = {
        "title": title,
        "machine": asdict(read_machine()),
        "date": date.today().isoformat(),
        "command": f"tests/run bench -- -k {name}",
        **({} if rounds is None else {"rounds": rounds}),
        "figures": dict(figures),
        "spread": {figure: asdict(found) for figure, found in (spread or {}).items()},
        "words": dict(words),
        "tables": [asdict(table) for table in tables],
        "notes": list(notes),
    }
    if not is_rehearsal:
        history.append(history.entries_of(name, report))
    if is_part and path.exists():
        report = _beside(json.loads(path.read_text()), report)
    path.write_text(json.dumps(report, indent=2) + "\n")
    for table in tables:
        print(f"\n{table.title}")
        for row in (table.columns, *table.rows):
            print("  " + "  ".join(f"{cell!s:>16}" for cell in row))
    for figure, value in figures.items():
        found = (spread or {}).get(figure)
        of_rounds = "" if found is None else f" ({found.least} to {found.most}, {found.rounds})"
        print(f"{figure:>32} {value}{of_rounds}")
    for figure, words in missed(name, figures).items():
        print(f"{figure:>32} missed: {words}")
    return path


def _beside(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new report with what only the old one has, and where that comes from."""
    machine = old["machine"]
    of = f" ({old['date']}, commit {machine['commit'][:7]}, {machine['cpu']})"
    kept = [figure for figure in old["figures"] if figure not in new["figures"]]
    words = {name: old["words"][name] for name in kept}
    titles = {table["title"] for table in new["tables"]}
    return {
        **new,
        "figures": {**{name: old["figures"][name] for name in kept}, **new["figures"]},
        "spread": {**{k: one for k, one in old["spread"].items() if k in kept}, **new["spread"]},
        "words": {
            **{name: told if ", commit " in told else told + of for name, told in words.items()},
            **new["words"],
        },
        "tables": [*(one for one in old["tables"] if one["title"] not in titles), *new["tables"]],
        "notes": new["notes"] or old["notes"],
    }


def missed_of(name: str) -> dict[str, str]:
    """Return what misses its aim in docs/benchmarks/NAME.json, with value and aim in words."""
    return missed(name, json.loads((RESULTS_DIR / f"{name}.json").read_text())["figures"])
