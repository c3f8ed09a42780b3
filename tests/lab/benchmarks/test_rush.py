"""Users who log in and start within seconds, at the portal and at stock JupyterHub in turns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.benchmarks.report import LEAST_ROUNDS, missed_of

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).parent / "rush" / "rush.py"


def test_a_rush_is_served_as_soon_as_by_stock_jupyterhub(rounds: int) -> None:
    program = [sys.executable, str(PROGRAM), f"--rounds={rounds}"]
    subprocess.run(program, check=True, timeout=3600)

    if rounds >= LEAST_ROUNDS:
        assert missed_of("rush") == {}
