"""Users who log in and start within seconds, at the portal and at stock JupyterHub in turns."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.benchmarks.report import LEAST_ROUNDS, missed_of

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).parent / "rush/rush.py"


def test_a_rush_is_served_as_soon_as_by_stock_jupyterhub(rounds: int) -> None:
    subprocess.run([sys.executable, PROGRAM, f"--rounds={rounds}"], check=True, timeout=7200)

    if rounds >= LEAST_ROUNDS:
        assert missed_of("rush") == {}
