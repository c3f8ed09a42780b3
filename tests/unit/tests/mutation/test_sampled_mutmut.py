"""Which mutants are tried if not all of them are."""

from __future__ import annotations

from tests.mutation.sampled_mutmut import Sample, functions_of

NAMES = [f"module.x_f__mutmut_{n}" for n in range(200)]


def test_a_sample_is_always_the_same() -> None:
    sample = Sample(n_most=50)

    assert sample.choose(NAMES) == sample.choose(reversed(NAMES))
    assert len(sample.choose(NAMES)) == 50


def test_few_new_mutants_leave_most_of_a_sample_as_it_is() -> None:
    sample = Sample(n_most=50)
    new = [f"module.x_g__mutmut_{n}" for n in range(4)]

    assert len(sample.choose(NAMES) - sample.choose([*NAMES, *new])) <= 4


def test_zero_chooses_all() -> None:
    assert Sample(n_most=0).choose(NAMES) == set(NAMES)


def test_what_is_held_out_has_nothing_of_the_usual_sample() -> None:
    for n_most in (5, 0):
        held_out = Sample(n_most=n_most, is_held_out=True).choose(NAMES)

        assert len(held_out) == (n_most or len(NAMES) - Sample().n_most)
        assert not held_out & Sample().choose(NAMES)


def test_a_test_is_run_with_all_its_parameters() -> None:
    tests = ["tests/test_a.py::test_it[a]", "tests/test_a.py::test_it[[1]::b]", "tests/b.py::test"]

    assert functions_of(tests) == ["tests/b.py::test", "tests/test_a.py::test_it"]
