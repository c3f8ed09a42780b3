"""TensorBoard from a click, beside stock TensorBoard from a shell, on the same logs."""

import json
import subprocess
import sys
from pathlib import Path

from tests.lab.benchmarks.report import LEAST_ROUNDS, REHEARSALS_DIR, RESULTS_DIR, missed_of

PROGRAM = Path(__file__).with_name("tensorboard")
LEAST_LOGS_MB = 45


def test_charts_come_as_soon_as_the_page_of_stock_alone(rounds: int) -> None:
    program = [sys.executable, str(PROGRAM), f"--rounds={rounds}"]
    subprocess.run(program, check=True, timeout=1800)

    if rounds < LEAST_ROUNDS:
        assert (REHEARSALS_DIR / "tensorboard.json").exists()
        return
    figures = json.loads((RESULTS_DIR / "tensorboard.json").read_text())["figures"]
    assert figures["logs_mb"] > LEAST_LOGS_MB
    assert figures["charts_50mb_s"] < figures["stock_charts_50mb_s"]
    assert missed_of("tensorboard") == {}
