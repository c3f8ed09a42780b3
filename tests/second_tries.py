"""A test that fails is tried once more. If it passes then, that is recorded: once, not twice."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

RECORD = Path(__file__).with_suffix(".jsonl")


def judge(second_tries: Sequence[str], record: Path | None = None) -> list[str]:
    """Return what fails a run, and add its second tries to the record.

    Args:
        second_tries: Tests of the whole run that passed only at the second try, each with the
            reason of its first failure in the lines below its name.
        record: One JSON object a line, of earlier runs; RECORD if None.

    Returns:
        A failure for each test that is in the record already.
    """
    record = record or RECORD
    lines = record.read_text().splitlines() if record.exists() else []
    known = {json.loads(line)["test"] for line in lines}
    names = [text.partition("\n")[0] for text in second_tries]
    again = [name for name in names if name in known]
    failures = [f"{name}\n  needed a second try before: see {record.name}" for name in again]
    if not names:
        return failures
    day = datetime.now(UTC).date().isoformat()
    with record.open("a") as file:
        for text in second_tries:
            name, _, why = text.partition("\n")
            print(json.dumps({"test": name, "day": day, "why": why.strip()}), file=file)
    return failures
