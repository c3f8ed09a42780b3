"""Horovod over MPI where Horovod is built without it, as by default; tests/lab/optional has it."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).parents[1] / "lab/optional/mpi_cases.py"


def test_a_horovod_without_mpi_is_refused_before_ranks_start(session):
    outcome = session.run_cases(PROGRAM, ["refusal"])["refusal"]

    assert "the Horovod of this environment is built without MPI" in outcome.value["text"]
    assert "ranks on" not in outcome.cell
