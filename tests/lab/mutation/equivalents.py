"""Mutants that no test can tell from the module, each with the reason."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("equivalents.toml")


@dataclass(frozen=True, slots=True)
class Change:
    """What a mutant changes.

    Args:
        function: Such as "joined" or "Limits.problem".
        after: The same of the mutant; empty for lines that are gone.
    """

    function: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A change that nobody can notice.

    Args:
        module: Its path, such as "spawner/options/limits.py".
    """

    module: str
    change: Change
    reason: str


def read_equivalents(text: str) -> tuple[Equivalent, ...]:
    """Read the file of equivalents."""
    return tuple(
        Equivalent(
            module,
            Change(entry["function"], entry["before"], entry["after"]),
            entry["reason"],
        )
        for module, entries in tomllib.loads(text).items()
        for entry in entries
    )


def of_module(path: str, equivalents: Iterable[Equivalent]) -> dict[Change, str]:
    """Return the changes of one module, and why nobody can notice each."""
    return {e.change: e.reason for e in equivalents if e.module == path}
