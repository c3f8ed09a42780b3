"""A sweep beside the same program as an array of sbatch's, in turns, on the running portal."""

import json
import shutil
from pathlib import Path

import pytest

from tests.lab.benchmarks.jobs import sweep_session
from tests.lab.benchmarks.jobs.sweep_session import FIGURES
from tests.lab.benchmarks.rounds import Rounds
from tests.templates.conftest import ENVIRONMENTS, SlurmSession

_PYTHON = ENVIRONMENTS / "pytorch/bin/python"


def measure_sweeps(n_rounds: int) -> dict[str, Rounds]:
    """Return seconds from the call to the last point's end of both, and their ratio."""
    pairs = [_measure_pair() for _ in range(n_rounds)]
    sweep, array = (Rounds([pair[name] for pair in pairs]) for name in FIGURES)
    return {"sweep_s": sweep, "array_s": array, "sweep_vs_array": sweep.over(array)}


def _measure_pair() -> dict[str, float]:
    session = SlurmSession("ada")
    try:
        program = Path(sweep_session.__file__)
        shutil.copy(program, session.programs_dir)
        job = session.submit(session.command_line(program.name, python=_PYTHON))
        printed = session.output_of(job)
    finally:
        session.remove()
    line = printed.splitlines()[-1]
    if not line.startswith("{"):
        pytest.fail(printed)
    print(line, flush=True)
    pair: dict[str, float] = json.loads(line)
    return pair
