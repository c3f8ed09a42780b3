"""What a program printed in a session: its measurements, and whether it came to its end."""

import json
from typing import Any

MARK = "FOUND "
# The job prints it after the program, with its exit status; slurmstepd may write more.
END = "ENDED "
N_LINES_SHOWN = 60


class ProgramError(Exception):
    """A program ended with an error or measured nothing; the message has what it printed last."""


def rows_of(printed: str) -> list[dict[str, Any]]:
    """Return the measurements among the lines that a program has printed so far."""
    # The last line may be half written.
    lines = [line for line in printed.splitlines(keepends=True) if line.endswith("\n")]
    return [json.loads(line.removeprefix(MARK)) for line in lines if line.startswith(MARK)]


def measurements(printed: str) -> list[dict[str, Any]]:
    """Return the measurements of a program that has ended."""
    lines = printed.splitlines()
    ends = [line for line in lines if line.startswith(END)]
    end = ends[-1] if ends else "killed before its end"
    rows = rows_of(printed)
    if end == f"{END}0" and rows:
        return rows
    shown = "\n".join(lines[-N_LINES_SHOWN:])
    raise ProgramError(f"{len(rows)} measurements, then {end}. It printed last:\n{shown}")
