"""The list of mutants that nobody can notice."""

from __future__ import annotations

import pytest

from tests.mutation.equivalents import FILE, Change, Equivalent, of_module, read_equivalents
from tests.mutation.modules import MODULES

TEXT = """
[["spawner/options/limits.py"]]
function = "Limits._lowered"
before = "a < b"
after = "a <= b"
reason = "the same for equal numbers"
"""
CHANGE = Change("Limits._lowered", "a < b", "a <= b")


def test_an_entry_names_the_module_the_change_and_the_reason() -> None:
    found = read_equivalents(TEXT)

    assert found == (Equivalent("spawner/options/limits.py", CHANGE, "the same for equal numbers"),)
    assert of_module("spawner/options/limits.py", found) == {CHANGE: "the same for equal numbers"}
    assert of_module("spawner/options/request.py", found) == {}


def test_an_entry_without_a_reason_is_refused() -> None:
    with pytest.raises(KeyError, match="reason"):
        read_equivalents(TEXT.replace("reason", "because"))


def test_all_entries_are_of_modules_that_are_mutated() -> None:
    equivalents = read_equivalents(FILE.read_text())

    assert {e.module for e in equivalents} <= {module.path for module in MODULES}
    assert all(e.reason for e in equivalents)
