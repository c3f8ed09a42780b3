"""The suite for GPUs runs on a CPU to its end, so that it is ready where there is a GPU."""

import os
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
REPORT = CHECKOUT / "docs" / "benchmarks" / "gpu.json"
TIMEOUT_S = 900
# What only a GPU or more nodes can show.
NEEDS_MORE = (
    "nvidia-smi, NVML and MIG",
    "ranks on several nodes",
)


def run_suite(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CHECKOUT / "tests" / "run", "gpu", *words],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.release
def test_every_part_of_the_gpu_suite_runs_on_a_cpu() -> None:
    before = REPORT.read_bytes() if REPORT.exists() else None

    done = run_suite("--cpu")

    assert done.returncode == 0, done.stdout + done.stderr
    untried = done.stdout.partition("\nnot tried\n")[2].partition("\n\nchecks\n")[0].splitlines()
    assert sorted(line.strip().partition(": ")[0] for line in untried) == sorted(NEEDS_MORE)
    assert " 0 failed, " in done.stdout.splitlines()[-2]
    assert done.stdout.splitlines()[-1].startswith("Nothing was written: ")
    assert (REPORT.read_bytes() if REPORT.exists() else None) == before


def test_without_a_gpu_the_gpu_suite_says_so_and_measures_nothing() -> None:
    done = run_suite()

    assert done.returncode == 2
    assert "sees no GPU" in done.stderr
    assert "--cpu" in done.stderr
