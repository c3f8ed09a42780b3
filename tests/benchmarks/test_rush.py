"""Sixty users who log in and start within a minute on the demo cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).parent / "rush" / "rush.py"
RESULT = Path(__file__).parents[2] / "docs/benchmarks/rush.json"


def test_pages_and_logins_come_within_a_second_while_the_starts_stand_in_line() -> None:
    subprocess.run([sys.executable, str(PROGRAM)], check=True, timeout=1800)

    figures = json.loads(RESULT.read_text())["figures"]
    assert figures["n_errors"] == 0
    for step in ("login", "home", "form"):
        assert figures[f"{step}_p95_s"] < 1, step
