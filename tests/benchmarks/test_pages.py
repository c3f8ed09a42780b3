"""The form for 100 users at once, beside that of jupyterhub_moss, on a cluster of 1,000 nodes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("pages")
RESULT = PROGRAM.parents[2] / "docs/benchmarks/pages.json"


def test_slurm_is_asked_less_by_a_hundred_users_than_once_for_each() -> None:
    subprocess.run([sys.executable, str(PROGRAM)], check=True, timeout=600)

    figures = json.loads(RESULT.read_text())["figures"]
    assert figures["slurm_calls_per_min"] < 100
    assert figures["form_p95_ms"] < 10_000
