"""GPUs that belong to kernels: their start, their speed, and the GPU hours that they save."""

import subprocess
import sys

import pytest

from tests.lab.benchmarks.report import CHECKOUT, LEAST_ROUNDS, REHEARSALS_DIR, missed_of

pytestmark = pytest.mark.cluster


def test_a_kernel_has_its_gpu_soon_and_works_as_fast_as_a_local_one(rounds: int) -> None:
    program = [sys.executable, "-m", "tests.lab.benchmarks.lend.measure", f"--rounds={rounds}"]
    subprocess.run(program, check=True, timeout=1800, cwd=CHECKOUT)

    if rounds < LEAST_ROUNDS:
        assert (REHEARSALS_DIR / "lend.json").exists()
        return
    assert missed_of("lend") == {}
