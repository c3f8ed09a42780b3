"""What counts for the score and what does not."""

from __future__ import annotations

from tests.mutation.equivalents import Change
from tests.mutation.mutants import Mutant, Outcome
from tests.mutation.score import Score, score_of, total, unnoticed


def mutant(after: str, outcome: Outcome) -> Mutant:
    return Mutant(name=after, change=Change("f", "return 1", after), outcome=outcome)


MUTANTS = [
    mutant("return 2", Outcome.KILLED),
    mutant("return 3", Outcome.TIMED_OUT),
    mutant("return 4", Outcome.SURVIVED),
    mutant("return 5", Outcome.NO_TESTS),
    mutant("return 1 + 0", Outcome.SURVIVED),
]
EQUIVALENT = {Change("f", "return 1", "return 1 + 0"): "the same number"}


def test_what_no_test_calls_counts_as_unnoticed() -> None:
    assert score_of(MUTANTS, {}).percent == 40.0
    assert len(unnoticed(MUTANTS, {})) == 3


def test_an_equivalent_mutant_is_counted_apart() -> None:
    score = score_of(MUTANTS, EQUIVALENT)

    assert score == Score(n_killed=1, n_timed_out=1, n_survived=1, n_no_tests=1, n_equivalent=1)
    assert score.percent == 50.0
    assert [m.name for m in unnoticed(MUTANTS, EQUIVALENT)] == ["return 4", "return 5"]


def test_a_noticed_mutant_is_none_that_nobody_can_notice() -> None:
    assert score_of(MUTANTS, {mutant.change: "" for mutant in MUTANTS}).n_killed == 1


def test_modules_count_by_their_mutants() -> None:
    overall = total([Score(n_killed=9, n_survived=1), Score(n_survived=2)])

    assert overall == Score(n_killed=9, n_survived=3)
    assert overall.percent == 75.0
