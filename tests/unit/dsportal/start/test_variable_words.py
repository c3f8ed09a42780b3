"""The cell that made a variable, and what is said of it."""

import pytest

from dsportal.start.variable_words import cell_of, largest

CELLS = [
    "",
    "log = 1",
    "def log(): pass",
    "for line in []: pass",
    "with open('x') as out: pass",
    "def f():\n    hidden = 1",
    "this is no Python",
    "print(log)",
]


@pytest.mark.parametrize(
    ("name", "cell"), [("log", 2), ("line", 3), ("out", 4), ("f", 5), ("hidden", 0), ("this", 0)]
)
def test_the_last_cell_that_set_a_variable_is_named(name: str, cell: int) -> None:
    assert cell_of(name, CELLS) == cell


def test_the_largest_variables_are_named_first() -> None:
    sizes = {"a": 10, "b": 3 * 10**9, "c": 20 * 10**6, "d": 2 * 10**6}

    assert largest(sizes) == "Largest: b 3.0 GB, c 20.0 MB, d 2.0 MB."
