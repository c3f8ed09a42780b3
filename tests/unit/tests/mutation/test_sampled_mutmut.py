"""Which mutants are tried if not all of them are."""

from __future__ import annotations

from tests.mutation.sampled_mutmut import functions_of, sample

NAMES = [f"module.x_f__mutmut_{n}" for n in range(200)]


def test_a_sample_is_always_the_same() -> None:
    assert sample(NAMES, 50) == sample(reversed(NAMES), 50)
    assert len(sample(NAMES, 50)) == 50


def test_few_new_mutants_leave_most_of_a_sample_as_it_is() -> None:
    new = [f"module.x_g__mutmut_{n}" for n in range(4)]

    assert len(sample(NAMES, 50) - sample([*NAMES, *new], 50)) <= 4


def test_zero_chooses_all() -> None:
    assert sample(NAMES, 0) == set(NAMES)


def test_a_test_is_run_with_all_its_parameters() -> None:
    tests = ["tests/test_a.py::test_it[a]", "tests/test_a.py::test_it[[1]::b]", "tests/b.py::test"]

    assert functions_of(tests) == ["tests/b.py::test", "tests/test_a.py::test_it"]
