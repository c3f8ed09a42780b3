"""What the tools of a session add to its start and its memory, side by side."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.benchmarks.report import LEAST_ROUNDS, REHEARSALS_DIR, RESULTS_DIR, missed_of

PROGRAM = Path(__file__).parent / "session" / "start.py"
pytestmark = pytest.mark.cluster


def test_all_tools_add_a_tenth_to_the_start_at_most(rounds: int) -> None:
    program = [sys.executable, str(PROGRAM), f"--rounds={rounds}"]
    subprocess.run(program, check=True, timeout=3600)

    is_rehearsal = rounds < LEAST_ROUNDS
    folder = REHEARSALS_DIR if is_rehearsal else RESULTS_DIR
    report = json.loads((folder / "session.json").read_text())
    assert len(report["tables"][0]["rows"]) > 1
    if is_rehearsal:
        return
    assert missed_of("session") == {}
