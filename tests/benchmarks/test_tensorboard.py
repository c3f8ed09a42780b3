"""TensorBoard from a click, beside stock TensorBoard from a shell, on the same logs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("tensorboard")
RESULT = PROGRAM.parents[2] / "docs/benchmarks/tensorboard.json"


def test_tensorboard_behind_the_login_is_not_much_slower_than_stock() -> None:
    subprocess.run([sys.executable, str(PROGRAM)], check=True, timeout=900)

    figures = json.loads(RESULT.read_text())["figures"]
    assert figures["logs_mb"] > 45
    assert figures["charts_50mb_s"] < 1.5 * figures["stock_charts_50mb_s"]
