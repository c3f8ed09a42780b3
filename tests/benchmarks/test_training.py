"""Training from a cell, beside srun, horovodrun and torchrun."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.report import LEAST_ROUNDS, REHEARSALS_DIR, RESULTS_DIR

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).with_name("training")


def test_training_from_a_cell_is_as_fast_as_the_same_program_from_srun(rounds: int) -> None:
    program = [sys.executable, str(PROGRAM), "training", f"--rounds={rounds}"]
    subprocess.run(program, check=True, timeout=3600)

    if rounds < LEAST_ROUNDS:
        assert (REHEARSALS_DIR / "training.json").exists()
        return
    figures = json.loads((RESULTS_DIR / "training.json").read_text())["figures"]
    for framework in ("horovod", "torch"):
        assert figures[f"{framework}_images_vs_srun"] >= 0.98
        assert figures[f"{framework}_first_step_extra_vs_srun_s"] <= 0.5
        # Horovodrun and torchrun import the framework first.
        assert figures[f"{framework}_first_step_extra_s"] <= 0
    assert figures["prediction_error_seeds_percent"] < 10
