"""mutmut run for a sample of the mutants: python -P sampled_mutmut.py N SEED [--all-tests]

mutmut itself tries all mutants, or those that are named, and names them only while it runs.
"""

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass

# Of each module.
N_MOST = 15
# All tests are run with each mutant, for mutmut does not see which of them call its function.
ALL_TESTS = "--all-tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Which mutants of a module are tried.

    Args:
        n_most: Most of them; 0 for all.
        seed: Draws them. Each commit has its own, so that no test is written for a sample.
    """

    n_most: int = N_MOST
    seed: str = ""

    def choose(self, names: Iterable[str]) -> list[str]:
        by_hash = sorted(
            names, key=lambda name: hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
        )
        return by_hash[: self.n_most or None]


def functions_of(tests: Iterable[str]) -> list[str]:
    """Return the tests without their parameters, whose names pytest may not find again."""
    return sorted({test.partition("[")[0] for test in tests})


def main(sample: Sample, *, all_tests: bool) -> None:
    """Run mutmut in the current folder."""
    # Only here: mutmut has to be started as a program, and then changes the process.
    import mutmut.__main__ as program
    from mutmut.runners.harness import PytestRunner
    from mutmut.state import state
    from mutmut.workers.isolation import ForkServerRunner

    collect = program.collect_source_file_mutation_data

    def collect_sample(*, mutant_names: tuple[str, ...]) -> object:
        mutants, data = collect(mutant_names=mutant_names)
        chosen = set(sample.choose(name for _, name, _ in mutants))
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
    chosen = Sample(n_most=int(sys.argv[1]), seed=sys.argv[2])
    main(chosen, all_tests=ALL_TESTS in sys.argv)
