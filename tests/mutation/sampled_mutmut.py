"""mutmut run for a sample of the mutants: python -P sampled_mutmut.py N

mutmut itself tries all mutants, or those that are named, and names them only while it runs.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable

SEED = "1"


def sample(names: Iterable[str], n_most: int) -> set[str]:
    """Choose mutants: always the same, and mostly the same after a change of the module.

    Returns:
        At most `n_most` of the names; all of them if it is 0.
    """
    by_hash = sorted(names, key=lambda name: hashlib.sha256(f"{SEED}:{name}".encode()).digest())
    return set(by_hash[: n_most or None])


def functions_of(tests: Iterable[str]) -> list[str]:
    """Return the tests without their parameters, whose names pytest may not find again."""
    return sorted({test.partition("[")[0] for test in tests})


def main(n_most: int) -> None:
    """Run mutmut in the current folder; what has a result already is left alone."""
    # Only here: mutmut has to be started as a program, and then changes the process.
    import mutmut.__main__ as program
    from mutmut.runners.harness import PytestRunner
    from mutmut.workers.isolation import ForkServerRunner

    collect = program.collect_source_file_mutation_data

    def collect_sample(*, mutant_names: tuple[str, ...]) -> object:
        mutants, data = collect(mutant_names=mutant_names)
        chosen = sample((name for _, name, _ in mutants), n_most)
        return [mutant for mutant in mutants if mutant[1] in chosen], data

    arguments_of = PytestRunner._pytest_args_regular_run

    def whole_functions(runner: PytestRunner, tests: Iterable[str]) -> list[str]:
        return arguments_of(runner, functions_of(tests))

    # That all tests pass without a mutant is seen when it asks which tests call which function, and
    # that they can fail with each mutant that is killed.
    ForkServerRunner.run_clean_tests = lambda runner, *, tests: 0
    program.run_forced_fail_test = lambda runner: None
    program.collect_source_file_mutation_data = collect_sample
    PytestRunner._pytest_args_regular_run = whole_functions
    program.cli(["run", "--max-children", "1"])


if __name__ == "__main__":
    main(int(sys.argv[1]))
