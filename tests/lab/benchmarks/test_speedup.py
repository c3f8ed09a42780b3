"""Two ranks of a large network, beside one and beside two trainings by themselves."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.benchmarks.report import LEAST_ROUNDS, REHEARSALS_DIR, missed_of

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).with_name("training")


def test_two_ranks_of_a_large_network_are_as_fast_as_the_machine_lets_two_train(
    rounds: int,
) -> None:
    program = [sys.executable, str(PROGRAM), "speedup", f"--rounds={rounds}"]
    subprocess.run(program, check=True, timeout=5400)

    if rounds < LEAST_ROUNDS:
        assert (REHEARSALS_DIR / "speedup.json").exists()
        return
    assert missed_of("speedup") == {}
