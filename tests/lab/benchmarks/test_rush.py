"""Users who log in and start within seconds, at the portal and at stock JupyterHub in turns."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.benchmarks.report import LEAST_ROUNDS, missed_of

pytestmark = pytest.mark.cluster

FOLDER = Path(__file__).parent / "rush"


def test_a_rush_is_served_as_soon_as_by_stock_jupyterhub(rounds: int) -> None:
    run("rush.py", rounds)

    if rounds >= LEAST_ROUNDS:
        assert missed_of("rush") == {}


def test_the_first_minute_of_a_lesson_brings_no_error(rounds: int) -> None:
    run("lesson.py", rounds)


def run(program: str, rounds: int) -> None:
    argv = [sys.executable, str(FOLDER / program), f"--rounds={rounds}"]
    subprocess.run(argv, check=True, timeout=3600)
