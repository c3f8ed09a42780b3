"""Whether the tests of the important modules notice faults: mutmut puts them in, one by one."""

import pytest

from tests.lab.mutation.equivalents import FILE, of_module, read_equivalents
from tests.lab.mutation.modules import MODULES, MutatedModule
from tests.lab.mutation.mutants import Outcome, run_mutants
from tests.lab.mutation.report import write_report
from tests.lab.mutation.sampled_mutmut import Sample
from tests.lab.mutation.score import Score, score_of, total, unnoticed

LEAST_PERCENT = 85.0
LEAST_PERCENT_OF_MODULE = 70.0
EQUIVALENTS = read_equivalents(FILE.read_text())


def show(n_done: int, n_all: int) -> None:
    """Say how far a module is, for it takes minutes."""
    print(f"\r{n_done} of {n_all} mutants", end="", flush=True)


@pytest.fixture(scope="module")
def scores() -> dict[str, Score]:
    return {}


def test_the_tests_of_a_module_notice_most_faults(
    module: MutatedModule, sample: Sample, scores: dict[str, Score]
) -> None:
    equivalent = of_module(module.path, EQUIVALENTS)

    mutants = run_mutants(module, sample, show)

    chosen = sample.choose(mutant.name for mutant in mutants)
    tried = [mutant for mutant in mutants if mutant.name in chosen]
    for mutant in unnoticed(tried, equivalent):
        change = mutant.change
        print(f"{mutant.outcome.value} in {change.function}\n- {change.before}\n+ {change.after}")
    scores[module.path] = score = score_of(tried, equivalent)
    print(f"{module.path}: {score.percent} %, {score}")
    assert [mutant.name for mutant in tried if mutant.outcome is Outcome.NOT_RUN] == []
    noticed = {m.change for m in tried if m.outcome in (Outcome.KILLED, Outcome.TIMED_OUT)}
    assert sorted(c.function for c in equivalent if c in noticed) == []
    assert sorted(c.function for c in equivalent if c not in {m.change for m in mutants}) == []
    # Few are held out of one module, and one of them would decide.
    assert score.percent >= LEAST_PERCENT_OF_MODULE or sample.is_held_out


def test_the_tests_of_all_modules_notice_most_faults(
    sample: Sample, scores: dict[str, Score]
) -> None:
    if len(scores) < len(MODULES):
        return
    write_report(scores, sample)

    assert total(list(scores.values())).percent >= LEAST_PERCENT
