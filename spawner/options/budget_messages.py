"""What is left of the budgets that a user's job is charged to, and why they refuse one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_HOUR, SECONDS_PER_MINUTE, format_duration
from spawner.slurm.budgets import Budget, Budgets
from spawner.slurm.resources import Resources

_NOUNS = {
    "gres/gpu": "GPU hours",
    "cpu": "core hours",
    "node": "node hours",
    "mem": "GB hours of memory",
    "billing": "billing hours",
}
_MIB_MIN_PER_GB_HOUR = 60 * 1024
_MIN_PER_HOUR = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedBudgets:
    """The budgets of one user's choice.

    Attributes:
        budgets: The narrowest first.
        is_safe: Slurm starts only jobs that end before a budget does.
        problem: Why they are not known, a sentence; else empty. Then nothing is refused.
    """

    budgets: tuple[Budget, ...] = ()
    is_safe: bool = False
    problem: str = ""

    @classmethod
    def of_job(
        cls, budgets: Budgets, *, user: str, account: str, partition: str, qos: str
    ) -> ChargedBudgets:
        """Return those of a job; the arguments as in `Budgets.of_job`."""
        return cls(
            budgets=budgets.of_job(user=user, account=account, partition=partition, qos=qos),
            is_safe=budgets.is_safe,
            problem=budgets.problem,
        )

    @property
    def left(self) -> str:
        """Sentences about what is left, or that it is not known; "" without a budget."""
        if self.problem:
            return f"What is left of your budget is not known. {self.problem}"
        return " ".join(f"{_left(each)}." for each in self.budgets if not each.is_per_job)

    def why_not(self, resources: Resources, gpu_type: str | None, walltime_s: int) -> str:
        """Return why no job of this size and length starts, and what to do; "" if one may."""
        for budget in self.budgets:
            amount = budget.amount(resources, gpu_type)
            cost_min = amount * _minutes(walltime_s)
            if _is_used_up(budget, amount):
                return (
                    f"{_sentence(budget.of)} has used up its {_hours(budget, budget.limit_min)} "
                    f"{_noun(budget)}. Ask the administrators when they are renewed."
                )
            if cost_min <= budget.left_min or not (self.is_safe or budget.is_per_job):
                continue
            uses = f"this may use {_hours(budget, cost_min, up=True)}"
            longest = _longest(budget.left_min // amount)
            next_step = f"Ask for {longest} or less." if longest else "Ask for less."
            if budget.is_per_job:
                limit = f"{_hours(budget, budget.limit_min)} {_noun(budget)}"
                return f"One job in {budget.of} may use {limit}, and {uses}. {next_step}"
            return f"{_left(budget)}, and {uses}. {next_step}"
        return ""

    def longest(
        self, resources: Resources, gpu_type: str | None, limit_s: int
    ) -> tuple[str, int] | None:
        """Return what bounds a running job whose time limit is `limit_s`, and the most seconds.

        Of several the tightest; None without one. What bounds it is the subject of a sentence.
        """
        found = []
        for budget in self.budgets:
            amount = budget.amount(resources, gpu_type)
            if amount and budget.is_per_job:
                most_s = budget.limit_min * SECONDS_PER_MINUTE // amount
                found.append((most_s, f"The budget of one job in {budget.of}"))
            elif amount and self.is_safe:
                # Running jobs, this one too, have what they may still use until their limits.
                free_min = max(0, budget.left_min - budget.running_min)
                most_s = limit_s + free_min * SECONDS_PER_MINUTE // amount
                found.append((most_s, f"What is left of the budget of {budget.of}"))
        most_s, what = min(found, default=(0, ""))
        return (what, most_s) if found else None

    def note(self, resources: Resources, gpu_type: str | None, walltime_s: int) -> str:
        """Return what a job that nothing refuses may use of the scarcest budget; "" for none."""
        costs = {
            budget: budget.amount(resources, gpu_type) * _minutes(walltime_s)
            for budget in self.budgets
            if not budget.is_per_job
        }
        charged = {budget: cost_min for budget, cost_min in costs.items() if cost_min}
        if not charged:
            return ""
        budget = min(charged, key=lambda each: (each.left_min - each.running_min) / charged[each])
        cost_min = charged[budget]
        uses = f"May use {_hours(budget, cost_min, up=True)} {_noun(budget)}"
        if cost_min > budget.left_min:
            return f"{uses}. Slurm ends it when those of {budget.of} are used up."
        if self.is_safe and cost_min + budget.running_min > budget.left_min:
            return f"{uses}. It waits for running jobs of {budget.of}, which may use the others."
        return f"{uses}."


def fair_share_words(factor: float | None) -> str:
    """Return a sentence about a fair-share `factor`, 0 to 1; "" for None."""
    if factor is None:
        return ""
    return f"Your fair share is {factor:.2f}: of jobs that wait, those nearer to 1 start earlier."


def _is_used_up(budget: Budget, amount: int) -> bool:
    # What a job costs of billing units is not known, but without any left none starts.
    is_charged = amount or budget.tres == "billing"
    return bool(is_charged) and not budget.is_per_job and budget.left_min == 0


def _left(budget: Budget) -> str:
    left, limit = _hours(budget, budget.left_min), _hours(budget, budget.limit_min)
    return f"{left} of {limit} {_noun(budget)} left in {budget.of}"


def _noun(budget: Budget) -> str:
    gpu_type = budget.tres.removeprefix("gres/gpu:")
    if gpu_type != budget.tres:
        return f"{gpu_type} GPU hours"
    return _NOUNS.get(budget.tres, f"{budget.tres} hours")


def _hours(budget: Budget, minutes: int, *, up: bool = False) -> str:
    """Return an amount over time, such as "120" or "7.5", rounded so that it promises nothing."""
    hours = minutes / (_MIB_MIN_PER_GB_HOUR if budget.tres == "mem" else _MIN_PER_HOUR)
    tenths = math.ceil(hours * 10) if up else math.floor(hours * 10)
    return f"{tenths / 10:,.1f}".removesuffix(".0")


def _minutes(walltime_s: int) -> int:
    return math.ceil(walltime_s / SECONDS_PER_MINUTE)


def _longest(minutes: int) -> str:
    seconds = minutes * SECONDS_PER_MINUTE
    if seconds >= SECONDS_PER_HOUR:
        # Rounded down: as many hours as this may be asked for.
        seconds = seconds * 100 // SECONDS_PER_HOUR * SECONDS_PER_HOUR // 100
    return format_duration(seconds) if minutes else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
