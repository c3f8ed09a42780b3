"""Whether the tests of the important modules notice faults: mutmut puts them in, one by one."""

import pytest

from tests.lab.mutation.modules import MODULES, MutatedModule
from tests.lab.mutation.mutants import Outcome, run_mutants, show
from tests.lab.mutation.report import NOTICED, percent_noticed, write_report
from tests.lab.mutation.sampled_mutmut import Sample

# Each commit draws other mutants, of which some change nothing that anybody can notice.
LEAST_PERCENT = 80.0


def draw(n_done: int, n_all: int) -> None:
    """Say how far a module is, for it takes minutes."""
    print(f"\r{n_done} of {n_all} mutants", end="", flush=True)


@pytest.fixture(scope="module")
def found() -> dict[str, list[Outcome]]:
    return {}


def test_each_mutant_of_a_module_is_tried(
    module: MutatedModule, sample: Sample, found: dict[str, list[Outcome]]
) -> None:
    outcomes = run_mutants(module, sample, draw)

    for name, outcome in outcomes.items():
        if outcome not in NOTICED:
            print(f"{outcome.value}: {name}\n{show(module, name)}")
    found[module.path] = list(outcomes.values())
    print(f"{module.path}: {percent_noticed(outcomes.values())} %")
    assert Outcome.NOT_RUN not in outcomes.values()


def test_the_tests_of_all_modules_notice_most_faults(
    sample: Sample, found: dict[str, list[Outcome]]
) -> None:
    if len(found) < len(MODULES):
        return
    write_report(found, sample)

    everything = [outcome for outcomes in found.values() for outcome in outcomes]
    assert percent_noticed(everything) >= LEAST_PERCENT
