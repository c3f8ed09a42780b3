"""What came of the faults: on the terminal, and with --record in docs/benchmarks/faults.json."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tests.lab.benchmarks.machine import read_machine
from tests.lab.benchmarks.report import RESULTS_DIR

REPORT = RESULTS_DIR / "faults.json"
COLUMNS = (
    *("fault", "what happened", "sessions", "well again after, s", "slowest answer, s"),
    *("starts refused", "sessions ended", "load", "held"),
)
WORDS = {
    "faults": "runs with a fault. Those with a number are of one kind",
    "held": "of these, runs in which nobody lost more than the fault itself takes",
    "well_after_s_most": "longest time until all was well again, seconds",
}
NOTES = (
    "Sessions: how many ran with a kernel that kept a variable, were starting and were waiting.",
    "Well again: from the end of the fault until no session or variable was missing, nobody was"
    " pending who need not be, and hub, squeue and proxy agreed. After it everybody started again.",
    "Slowest answer: to a program that asked the hub twice a second all through the fault.",
    "Load: of the machine at the end of the fault, over a minute. Empty where it was not kept.",
    "Starts refused: with a sentence. These users asked again. Sessions ended: those that the fault"
    " takes by its nature, as a requeue does. Their users are told why.",
)


@dataclass
class Record:
    """What came of one fault.

    Attributes:
        well_after_s: From the end of the fault until all was well again, seconds; None if never.
        slowest_s: The longest that the hub let a program wait, seconds.
        wrongs: What was not as it must be at the end.
        sessions: What ran, if it was anything else.
    """

    fault: str
    n_each: int
    what: str = ""
    well_after_s: float | None = None
    slowest_s: float = 0.0
    n_refused: int = 0
    n_ended: int = 0
    wrongs: list[str] = field(default_factory=list)
    is_over: bool = False
    load: float = 0.0
    sessions: str = ""

    @property
    def held(self) -> bool:
        """Whether the fault cost nothing that it need not."""
        return self.is_over and not self.wrongs

    def sentence(self) -> str:
        """Return what the terminal shows."""
        told = "held" if self.held else f"did NOT hold: {'; '.join(self.wrongs) or 'see below'}"
        after = "never" if self.well_after_s is None else f"after {self.well_after_s:.1f} s"
        return f"{self.fault}: {told}; well again {after}, {self.n_refused} starts refused"

    def row(self) -> list[str | int | float]:
        """Return the line of the table."""
        after = "never" if self.well_after_s is None else round(self.well_after_s, 1)
        sessions = self.sessions or f"{self.n_each}+{self.n_each}+{self.n_each}"
        held = "yes" if self.held else f"no: {'; '.join(self.wrongs)}"
        slowest = round(self.slowest_s, 1)
        return [
            *(self.fault, self.what, sessions, after, slowest),
            *(self.n_refused, self.n_ended, round(self.load, 1), held),
        ]


def add(path: Path, record: Record) -> None:
    """Add a record to a file with one of them in each line."""
    with path.open("a") as file:
        file.write(json.dumps(asdict(record)) + "\n")


def read(path: Path) -> list[Record]:
    """Read such a file; one that is missing has no records."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Record(**json.loads(line)) for line in lines]


def merged(
    rows: Sequence[Sequence[Any]], records: Sequence[Record]
) -> list[Sequence[str | int | float]]:
    """Return the table with new lines in the place of older ones of the same fault."""
    # Older rows lack the load, which comes before the last column.
    full = (row if len(row) == len(COLUMNS) else [*row[:-1], "", row[-1]] for row in rows)
    table: dict[str, Sequence[str | int | float]] = {row[0]: row for row in full}
    table |= {record.fault: record.row() for record in records}
    return [table[name] for name in sorted(table)]


def write_report(records: Sequence[Record], seed: int) -> None:
    """Write docs/benchmarks/faults.json; what was not tried now stays as it is."""
    kept = json.loads(REPORT.read_text())["tables"][0]["rows"] if REPORT.exists() else []
    rows = merged(kept, records)
    seconds = [float(row[3]) for row in rows if row[3] != "never"]
    report = {
        "title": "Faults",
        "machine": asdict(read_machine()),
        "date": date.today().isoformat(),
        "command": "tests/run faults -- --record",
        "figures": {
            "faults": len(rows),
            "held": sum(row[-1] == "yes" for row in rows),
            "well_after_s_most": max(seconds, default=0.0),
        },
        "words": WORDS,
        "tables": [{"title": "Each fault", "columns": COLUMNS, "rows": rows}],
        "notes": [*NOTES, *_of_last_run(records, seed)],
    }
    REPORT.write_text(json.dumps(report, indent=2) + "\n")


def _of_last_run(records: Sequence[Record], seed: int) -> list[str]:
    names = ", ".join(record.fault for record in records) or "nothing"
    return [
        f"The last run tried {names}, with seed {seed} for its random moments; the other lines are"
        " from runs before it."
    ]
