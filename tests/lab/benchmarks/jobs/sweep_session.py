"""Runs in a session: a sweep, and the same program as an array; prints how long both took.

It imports nothing of the tests, which the session's node may not see.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from dsportal import sweep
from dsportal.launch.sbatch import job_environment
from dsportal.launch.session import read_session

N_POINTS = 50
AT_ONCE = 5
# As a GPU would work, and not the cores.
POINT_S = 10.0
FIGURES = ("sweep_s", "array_s")
_LOOK_S = 0.5


def train(number: int, folder: str) -> int:
    """Train one point; its file tells when it has ended."""
    time.sleep(POINT_S)
    Path(folder, str(number)).touch()
    return number


def measure() -> Iterator[float]:
    """Yield seconds from the start of each way to the end of its last point."""
    for way in (_sweep, _array):
        folder = Path(way.__name__).absolute()
        folder.mkdir()
        began_s = time.time()
        way(folder)
        while len(ended := list(folder.iterdir())) < N_POINTS:
            time.sleep(_LOOK_S)
        yield max(path.stat().st_mtime for path in ended) - began_s


def _sweep(folder: Path) -> None:
    grid = {"number": range(N_POINTS), "folder": [str(folder)]}
    sweep(train, grid, gpus=1, at_once=AT_ONCE, hours=0.5, wait=False)


def _array(folder: Path) -> None:
    session = read_session(os.environ)
    subprocess.run(
        [
            *("sbatch", f"--array=0-{N_POINTS - 1}%{AT_ONCE}", "--time=30", "--output=/dev/null"),
            *("--nodes=1", "--ntasks=1", "--gpus-per-node=1"),
            f"--cpus-per-task={session.cores_per_gpu}",
            *([f"--mem={session.memory_mib_per_gpu}M"] if session.memory_mib_per_gpu else []),
        ],
        input=f"#!/bin/bash\nexec {sys.executable} {__file__} {folder}\n",
        env=job_environment(os.environ),
        text=True,
        stdout=subprocess.DEVNULL,
        check=True,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        train(int(os.environ["SLURM_ARRAY_TASK_ID"]), sys.argv[1])
    else:
        print(json.dumps(dict(zip(FIGURES, measure(), strict=True))))
