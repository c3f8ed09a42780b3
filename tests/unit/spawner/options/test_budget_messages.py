"""What users read about budgets."""

from typing import Any

import pytest

from dsportal.slurm.errors import OptionsError
from spawner.options.budget_messages import ChargedBudgets
from spawner.options.offer import Offer
from spawner.slurm.associations import Association, Associations
from spawner.slurm.budgets import Budget, Budgets
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD
from spawner.slurm.resources import Resources
from tests.unit.spawner.options.test_job_options import node, partition
from tests.unit.spawner.options.test_request import Traits

HOUR_S = 3600
TWO_GPUS = Resources(n_gpus=2, n_cores=16, memory_mib=98304)


def budget(**changes: Any) -> Budget:
    """Return a budget of 500 GPU hours, of which 120 are left."""
    whole: dict[str, Any] = {"tres": "gres/gpu", "of": "research", "limit_min": 30000}
    return Budget(**{**whole, "used_min": 22800, **changes})


def charged(*budgets: Budget, is_safe: bool = True) -> ChargedBudgets:
    return ChargedBudgets(budgets=budgets, is_safe=is_safe)


def test_what_is_left_is_said_with_the_whole_and_whose_it_is() -> None:
    assert charged(budget()).left == "120 of 500 GPU hours left in research."
    assert charged(budget(tres="gres/gpu:v100", used_min=29670)).left == (
        "5.5 of 500 v100 GPU hours left in research."
    )
    assert charged().left == ""


def test_what_is_not_known_refuses_nothing_and_says_so() -> None:
    unknown = ChargedBudgets(problem="Slurm is not responding.")

    assert unknown.left == "What is left of your budget is not known. Slurm is not responding."
    assert unknown.why_not(TWO_GPUS, None, 8 * HOUR_S) == ""


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (budget(), ""),
        (
            budget(used_min=29280),
            "12 of 500 GPU hours left in research, and this may use 16. Ask for 6 hours or less.",
        ),
        (budget(used_min=29290), "Ask for 5.91 hours or less."),
        (budget(used_min=29999), "Ask for less."),
        (
            budget(used_min=31000),
            "Research has used up its 500 GPU hours. Ask the administrators when they are renewed.",
        ),
        (
            budget(limit_min=600, used_min=0, is_per_job=True),
            "One job in research may use 10 GPU hours, and this may use 16. Ask for 5 hours or "
            "less.",
        ),
        (budget(tres="cpu", limit_min=6000, used_min=0), "100 of 100 core hours left"),
        (budget(tres="mem", limit_min=60 * 1024 * 100, used_min=0), "100 GB hours of memory"),
        (budget(tres="billing", limit_min=60, used_min=60), "used up its 1 billing hours"),
        (budget(tres="gres/gpu:a100", limit_min=60, used_min=60), ""),
    ],
    ids=str,
)
def test_a_job_that_would_never_start_is_refused_with_the_next_step(
    given: Budget, refusal: str
) -> None:
    told = charged(given).why_not(TWO_GPUS, "v100", 8 * HOUR_S)

    assert refusal in told
    assert bool(refusal) is bool(told)


def test_a_length_that_the_refusal_names_is_not_refused() -> None:
    scarce = charged(budget(used_min=29290))

    assert scarce.why_not(TWO_GPUS, None, round(5.91 * HOUR_S)) == ""


def test_without_safe_limits_slurm_starts_the_job_and_the_form_says_that_it_ends_it() -> None:
    scarce = charged(budget(used_min=29280), is_safe=False)

    assert scarce.why_not(TWO_GPUS, None, 8 * HOUR_S) == ""
    assert scarce.note(TWO_GPUS, None, 8 * HOUR_S) == (
        "May use 16 GPU hours. Slurm ends it when those of research are used up."
    )


def test_a_choice_says_what_it_may_use_of_the_scarcest_budget() -> None:
    plenty = budget(of="science", used_min=0)

    assert charged(plenty, budget()).note(TWO_GPUS, None, 8 * HOUR_S) == "May use 16 GPU hours."
    waits = charged(plenty, budget(running_min=6600)).note(TWO_GPUS, None, 8 * HOUR_S)
    assert "waits for running jobs of research" in waits
    no_gpu = Resources(n_gpus=0, n_cores=1, memory_mib=1024)
    assert charged(budget(used_min=30000)).why_not(no_gpu, None, HOUR_S) == ""
    assert charged(budget()).note(no_gpu, None, HOUR_S) == ""
    assert charged(budget()).note(TWO_GPUS, SHARD, HOUR_S) == ""


def offer(budgets: Budgets) -> Offer:
    of_ada = (Association(account="research", is_default=True, default_qos="normal"),)
    associations = Associations(by_user={"ada": of_ada})
    return Offer(traits=Traits(), user="ada", associations=associations, budgets=budgets)


def test_a_request_over_the_budget_is_refused_before_the_queue() -> None:
    catalog = Catalog(
        partitions={"jupyter": partition("jupyter", node("n1", {"v100": 4}), is_default=True)}
    )
    of_ada = {("research", "ada", ""): (budget(used_min=29280),)}
    scarce = offer(Budgets(by_association=of_ada, is_safe=True))

    with pytest.raises(
        OptionsError, match=r"You asked for 2 GPUs for 8 hours\. 12 of 500 GPU hours"
    ):
        scarce.check({"gpus": "2", "hours": "8"}, catalog)
    assert scarce.check({"gpus": "2", "hours": "6"}, catalog).walltime_s == 6 * HOUR_S
    assert offer(Budgets(problem="No answer.")).check({"gpus": "2", "hours": "8"}, catalog)


@pytest.mark.parametrize(
    ("given", "is_safe", "longest"),
    [
        # 120 GPU hours left, of which running jobs may use 104.
        (budget(running_min=6240), True, ("What is left of the budget of research", 16 * HOUR_S)),
        (budget(running_min=9000), True, ("What is left of the budget of research", 8 * HOUR_S)),
        (budget(), False, None),
        (budget(is_per_job=True, used_min=0, limit_min=1200), False,
         ("The budget of one job in research", 10 * HOUR_S)),
        (budget(tres="gres/gpu:a100"), True, None),
    ],
)  # fmt: skip
def test_a_running_job_gets_no_more_time_than_its_budget_pays(
    given: Budget, is_safe: bool, longest: tuple[str, int] | None
) -> None:
    assert charged(given, is_safe=is_safe).longest(TWO_GPUS, "v100", 8 * HOUR_S) == longest
