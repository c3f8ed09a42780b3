"""Sixty users who log in and start within a minute on the demo cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.report import LEAST_ROUNDS

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).parent / "rush" / "rush.py"
RESULT = Path(__file__).parents[2] / "docs/benchmarks/rush.json"


def test_logins_and_forms_come_within_a_second_while_the_starts_stand_in_line(rounds: int) -> None:
    is_rehearsal = rounds < LEAST_ROUNDS
    options = ["--no-report"] if is_rehearsal else []
    subprocess.run([sys.executable, str(PROGRAM), *options], check=True, timeout=1800)

    if is_rehearsal:
        return
    figures = json.loads(RESULT.read_text())["figures"]
    for step in ("login", "home", "form"):
        assert figures[f"{step}_p95_s"] < 1, step
    # All at once, pages are slower, but nobody is refused.
    assert figures["n_errors"] == figures["at_once_n_errors"] == 0
    # The first ones stand in no line, and some have left it before their page asks.
    assert figures["at_once_n_told_place"] >= 30
