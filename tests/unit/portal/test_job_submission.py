"""What accounts and QOS never give one job is refused before the queue."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from dsportal.launch.layout import Layout
from dsportal.launch.sbatch import JobRequest
from portal import job_submission
from portal.job_submission import check_limits, explain_budget, explain_ceiling
from spawner.client.command import Completed
from spawner.errors import SlurmUnavailableError
from spawner.options.budget_messages import ChargedBudgets
from spawner.slurm.associations import AssociationLimits
from spawner.slurm.budgets import Budget

REQUEST = JobRequest(
    name="train", shape=Layout(n_ranks=4, n_nodes=2), walltime_s=7200, folder=Path("/home/ada")
)


@pytest.mark.parametrize(
    ("most", "says"),
    [
        ({"max_gpus": 2}, "You asked for 4 GPUs; the QOS normal gives one job at most 2."),
        ({"max_walltime_s": 3600}, "2 hours; the QOS normal gives one job at most 1 hour."),
        ({"max_gpus": 4, "max_walltime_s": 7200}, ""),
        ({}, ""),
    ],
)
def test_a_job_above_a_limit_names_it(most: dict[str, int], says: str) -> None:
    said = explain_ceiling(REQUEST, AssociationLimits(of="the QOS normal", **most))

    assert said.startswith("You asked for") if says else said == ""
    assert says in said


def test_a_slurm_that_does_not_say_its_limits_refuses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def query(argv: Sequence[str], *, timeout_s: float) -> Completed:
        raise SlurmUnavailableError("Slurm is not responding. Try again in a minute.")

    monkeypatch.setattr(job_submission, "query", query)

    check_limits(REQUEST)


def test_a_job_for_which_too_little_is_left_says_so() -> None:
    of = Budget(of="the account research", tres="gres/gpu", limit_min=600, used_min=300)

    said = explain_budget(REQUEST, ChargedBudgets(budgets=(of,), is_safe=True))

    assert said.startswith("You asked for 4 GPUs for 2 hours. ")
    assert explain_budget(REQUEST, ChargedBudgets(budgets=(of,))) == ""
