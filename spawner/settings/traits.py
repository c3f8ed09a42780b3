"""Traits from tables of settings, and tables from the values of traits."""

from collections.abc import Iterator
from dataclasses import Field, fields
from typing import Any, TypeVar

from traitlets import Bool, Float, Integer, List, TraitType, Unicode

from spawner.errors import SettingsError
from spawner.settings.schema import default_of, kinds_of, rule_of

T = TypeVar("T")
_TRAITS: dict[Any, Any] = {bool: Bool, str: Unicode, int: Integer, float: Float}


def traits_of(*tables: type) -> dict[str, TraitType[Any, Any]]:
    """Return a trait for each setting of dataclasses, by name, with its default, range and help."""
    return {
        name: _trait(key, kinds_of(table)[key.name])
        for table in tables
        for name, key in _named(table)
    }


def read_traits(traits: Any, table: type[T]) -> T:
    """Return a table with the values of its traits.

    Args:
        traits: Has them as attributes.
        table: A dataclass of `traits_of`.
    """
    values = {key.name: getattr(traits, name) for name, key in _named(table)}
    try:
        return table(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
    except ValueError as error:
        raise SettingsError(f"{type(traits).__name__}: {error}") from error


def trait_values(table: Any) -> dict[str, Any]:
    """Return the values of a table's traits by name; `table` is an instance of its dataclass."""
    values = {name: getattr(table, key.name) for name, key in _named(type(table))}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


def _named(table: type) -> Iterator[tuple[str, Field[Any]]]:
    for key in fields(table):
        name = rule_of(key).trait
        if name is not None:
            yield name or key.name, key


def _trait(key: Field[Any], kind: Any) -> Any:
    rule, default = rule_of(key), default_of(key)
    if isinstance(default, tuple):
        return List(Unicode(), list(default), help=rule.doc).tag(config=True)
    bounds = {} if kind in {bool, str} else {"min": rule.lowest, "max": rule.highest}
    return _TRAITS[kind](default, help=rule.doc, **bounds).tag(config=True)
