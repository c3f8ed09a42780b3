"""How many mutants of a module its tests notice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.lab.mutation.equivalents import Change
from tests.lab.mutation.mutants import Mutant, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts of the mutants of one module, or of several."""

    n_killed: int = 0
    n_timed_out: int = 0
    n_survived: int = 0
    n_no_tests: int = 0
    n_equivalent: int = 0

    @property
    def percent(self) -> float:
        """Share of those noticed, 0 to 100; equivalent ones are left out, no others."""
        n_noticed = self.n_killed + self.n_timed_out
        n_all = n_noticed + self.n_survived + self.n_no_tests
        return round(100 * n_noticed / n_all, 1) if n_all else 100.0


def score_of(mutants: Iterable[Mutant], equivalent: Mapping[Change, str]) -> Score:
    """Count the mutants of one module."""
    outcomes = [_judged(mutant, equivalent) for mutant in mutants]
    return Score(
        n_killed=outcomes.count(Outcome.KILLED),
        n_timed_out=outcomes.count(Outcome.TIMED_OUT),
        n_survived=outcomes.count(Outcome.SURVIVED),
        n_no_tests=outcomes.count(Outcome.NO_TESTS),
        n_equivalent=outcomes.count(None),
    )


def _judged(mutant: Mutant, equivalent: Mapping[Change, str]) -> Outcome | None:
    is_unnoticed = mutant.outcome in (Outcome.SURVIVED, Outcome.NO_TESTS)
    return None if is_unnoticed and mutant.change in equivalent else mutant.outcome


def total(scores: Sequence[Score]) -> Score:
    """Return the counts of several modules together."""
    return Score(
        n_killed=sum(score.n_killed for score in scores),
        n_timed_out=sum(score.n_timed_out for score in scores),
        n_survived=sum(score.n_survived for score in scores),
        n_no_tests=sum(score.n_no_tests for score in scores),
        n_equivalent=sum(score.n_equivalent for score in scores),
    )


def unnoticed(mutants: Iterable[Mutant], equivalent: Mapping[Change, str]) -> list[Mutant]:
    """Return the mutants that a test is missing for."""
    missed = (Outcome.SURVIVED, Outcome.NO_TESTS)
    return [m for m in mutants if m.outcome in missed and m.change not in equivalent]
