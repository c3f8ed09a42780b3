"""Training from a cell, beside srun, horovodrun and torchrun."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.benchmarks.report import LEAST_ROUNDS, REHEARSALS_DIR, missed_of

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).with_name("training")


def test_training_from_a_cell_is_as_fast_as_the_same_program_from_srun(rounds: int) -> None:
    program = [sys.executable, str(PROGRAM), "training", f"--rounds={rounds}"]
    subprocess.run(program, check=True, timeout=3600)

    if rounds < LEAST_ROUNDS:
        assert (REHEARSALS_DIR / "training.json").exists()
        return
    assert missed_of("training") == {}
