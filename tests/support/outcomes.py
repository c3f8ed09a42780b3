"""What a program of cases, such as launch_cases.py, prints of each."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the cell of a case showed, and what the case found."""

    cell: str
    value: dict[str, Any]


def read_outcomes(printed: str) -> dict[str, Outcome]:
    """Return the outcome of each case by its name."""
    outcomes = {}
    cell: list[str] = []
    for line in printed.splitlines(keepends=True):
        if line.startswith("OUTCOME "):
            found = json.loads(line.removeprefix("OUTCOME "))
            outcomes[found["case"]] = Outcome(cell="".join(cell), value=found["value"])
            cell = []
        else:
            cell.append(line)
    return outcomes
