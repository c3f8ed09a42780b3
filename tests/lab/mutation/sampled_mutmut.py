"""mutmut run for a sample of the mutants: python -P sampled_mutmut.py N [--held-out] [--all-tests]

mutmut itself tries all mutants, or those that are named, and names them only while it runs.
"""

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass

SEED = "1"
HELD_OUT_SEED = "2"
# Of each module; tests are written for mutants of this sample that survived.
N_MOST = 15
HELD_OUT = "--held-out"
# All tests are run with each mutant, for mutmut does not see which of them call its function.
ALL_TESTS = "--all-tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Which mutants of a module are tried.

    Args:
        n_most: Most of them; 0 for all.
        is_held_out: Whether they are others than those that tests have been written for.
    """

    n_most: int = N_MOST
    is_held_out: bool = False

    @property
    def seed(self) -> str:
        """What draws it."""
        return HELD_OUT_SEED if self.is_held_out else SEED

    def choose(self, names: Iterable[str]) -> set[str]:
        """Choose mutants: always the same, and mostly the same after a change of the module."""
        left = set(names)
        if self.is_held_out:
            left -= Sample().choose(left)
        by_hash = sorted(
            left, key=lambda name: hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
        )
        return set(by_hash[: self.n_most or None])


def functions_of(tests: Iterable[str]) -> list[str]:
    """Return the tests without their parameters, whose names pytest may not find again."""
    return sorted({test.partition("[")[0] for test in tests})


def main(sample: Sample, *, all_tests: bool) -> None:
    """Run mutmut in the current folder; what has a result already is left alone."""
    # Only here: mutmut has to be started as a program, and then changes the process.
    import mutmut.__main__ as program
    from mutmut.runners.harness import PytestRunner
    from mutmut.state import state
    from mutmut.workers.isolation import ForkServerRunner

    collect = program.collect_source_file_mutation_data

    def collect_sample(*, mutant_names: tuple[str, ...]) -> object:
        mutants, data = collect(mutant_names=mutant_names)
        chosen = sample.choose(name for _, name, _ in mutants)
        return [mutant for mutant in mutants if mutant[1] in chosen], data

    arguments_of = PytestRunner._pytest_args_regular_run

    def whole_functions(runner: PytestRunner, tests: Iterable[str]) -> list[str]:
        return arguments_of(runner, functions_of(tests))

    run_stats = PytestRunner.run_stats

    def run_stats_of_all(runner: PytestRunner, *, tests: Iterable[str]) -> int:
        status = run_stats(runner, tests=tests)
        mutants, _ = collect(mutant_names=())
        for _, name, _ in mutants:
            function = program.mangled_name_from_mutant_name(name)
            state().tests_by_mangled_function_name[function] |= set(state().duration_by_test)
        return status

    # That all tests pass without a mutant is seen when it asks which tests call which function, and
    # that they can fail with each mutant that is killed.
    ForkServerRunner.run_clean_tests = lambda runner, *, tests: 0
    program.run_forced_fail_test = lambda runner: None
    program.collect_source_file_mutation_data = collect_sample
    PytestRunner._pytest_args_regular_run = whole_functions
    if all_tests:
        PytestRunner.run_stats = run_stats_of_all
    program.cli(["run", "--max-children", "1"])


if __name__ == "__main__":
    chosen = Sample(n_most=int(sys.argv[1]), is_held_out=HELD_OUT in sys.argv)
    main(chosen, all_tests=ALL_TESTS in sys.argv)
