"""Notebooks as jobs and sweeps beside sbatch, and the list of jobs of who has thousands."""

from collections.abc import Callable, Mapping

import pytest

from tests.lab.benchmarks.jobs.notebook import LINES, PAIRS_PER_ROUND, measure_notebooks
from tests.lab.benchmarks.jobs.page import N_ASKED, N_PAST, measure_page
from tests.lab.benchmarks.jobs.sweep import measure_sweeps
from tests.lab.benchmarks.jobs.sweep_session import AT_ONCE, N_POINTS, POINT_S
from tests.lab.benchmarks.report import LEAST_ROUNDS, missed_of, write_report
from tests.lab.benchmarks.rounds import Rounds

pytestmark = pytest.mark.cluster

PARTS: tuple[Callable[[int], Mapping[str, Rounds]], ...] = (
    measure_notebooks,
    measure_sweeps,
    measure_page,
)
WORDS = {
    "notebook_job_s": "from `dsportal job new` until the notebook's result is there, mean "
    f"of {PAIRS_PER_ROUND} jobs, s",
    "same_program_s": "from `sbatch` of the same lines in the same Python until they have run",
    "notebook_job_extra_s": "one minus the other, round by round",
    "sweep_s": f"from `sweep` of {N_POINTS} points, {AT_ONCE} at once, until the last has ended, s",
    "array_s": "from `sbatch --array` of the same program",
    "sweep_vs_array": "one divided by the other, round by round",
    "jobs_page_first_ms": f"first list of jobs in a session whose user has {N_PAST:,} past jobs of "
    "the last day, ms",
    "jobs_page_p95_ms": f"95th percentile of the {N_ASKED} lists after it",
}
NOTES = (
    f"The notebook has two cells, `{'` and `'.join(LINES)}`. Both ways wait for slurmctld's next "
    "look at the queue, take turns, and start PyTorch anew.",
    f"A point waits {POINT_S:g} s. Both ways ask for the same GPUs, cores and memory, from the "
    "same session.",
    "The past jobs are copies of a real one in the database of slurmdbd. `squeue`, `sacct` and "
    "the session are real.",
)


def test_a_notebook_is_a_job_soon_and_the_list_does_not_lag(rounds: int) -> None:
    found = {name: figure for part in PARTS for name, figure in part(rounds).items()}
    write_report(
        "jobs",
        title="Jobs",
        rounds=rounds,
        figures={name: figure.median for name, figure in found.items()},
        spread={name: figure.spread for name, figure in found.items()},
        words=WORDS,
        notes=NOTES,
    )

    if rounds >= LEAST_ROUNDS:
        assert missed_of("jobs") == {}
