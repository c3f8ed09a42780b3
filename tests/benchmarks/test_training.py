"""Training from a cell, beside horovodrun and torchrun from a shell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).with_name("training")
RESULT = PROGRAM.parents[2] / "docs/benchmarks/training.json"


def test_training_from_a_cell_is_as_fast_as_from_a_shell() -> None:
    subprocess.run([sys.executable, str(PROGRAM)], check=True, timeout=900)

    figures = json.loads(RESULT.read_text())["figures"]
    for framework in ("horovod", "torch"):
        assert figures[f"{framework}_images_ratio"] > 0.8
        assert figures[f"{framework}_first_step_extra_s"] < 5
    assert figures["speedup_2_ranks"] > 1.2
    assert figures["prediction_error_seeds_percent"] < 10
