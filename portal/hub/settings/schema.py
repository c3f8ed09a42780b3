"""Reads TOML tables into frozen dataclasses whose fields carry help, range and checks."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from spawner.errors import SettingsError

T = TypeVar("T")

KIND_NAMES: dict[Any, str] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    Path: "absolute path",
    tuple[str, ...]: "list of texts",
    tuple[int, ...]: "list of whole numbers",
    dict[str, Any]: "table",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a key may hold, beyond its type.

    Args:
        doc: Help for administrators: one or more sentences.
        example: Value for the example file, if the default is not a good one.
        lowest: Smallest number accepted; None for no limit.
        highest: Largest number accepted; None for no limit.
        check: Raises ValueError with a sentence if a value of the right type is wrong.
        needed: When a key with a default is required after all: "required with ...".
    """

    doc: str
    example: Any = None
    lowest: float | None = None
    highest: float | None = None
    check: Callable[[Any], None] | None = None
    needed: str = ""


def setting(doc: str, *, default: Any = MISSING, **rule: Any) -> Any:
    """Return a dataclass field that carries a `Rule`.

    Args:
        doc: Help for administrators: one or more sentences.
        default: Value if the file leaves the key out; without one the key is required.
        rule: Further arguments of `Rule`.
    """
    metadata = {"rule": Rule(doc=doc, **rule)}
    if default is MISSING:
        return field(metadata=metadata)
    # Dataclasses refuse a mutable default.
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def field_rule(key: Field[Any]) -> Rule:
    """Return the rule of a field made by `setting`; `key` is a dataclass field."""
    rule: Rule = key.metadata["rule"]
    return rule


def is_required(key: Field[Any]) -> bool:
    """Return whether a file must give this `key`, a field without a default."""
    return key.default is MISSING and key.default_factory is MISSING


def field_default(key: Field[Any]) -> Any:
    """Return the default of a field, `key`, that is not required."""
    return key.default if key.default_factory is MISSING else key.default_factory()


def default(cls: type, name: str) -> Any:
    """Return the default of the key `name` of a table's dataclass."""
    return field_default(next(key for key in fields(cls) if key.name == name))


def kind_name(kind: Any) -> str:
    """Return what administrators call a type, for example "whole number".

    Args:
        kind: One of the types in KIND_NAMES, or an Enum whose values are strings.
    """
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " or ".join(f'"{member.value}"' for member in kind)
    return KIND_NAMES[kind]


def closest(name: str, valid: Iterable[str]) -> str:
    """Return " Did you mean 'x'?", with its leading space, or "" if no valid name is near."""
    matches = difflib.get_close_matches(name, list(valid), n=1)
    return f" Did you mean '{matches[0]}'?" if matches else ""


def read_table(
    cls: type[T], table: Any, *, where: str, elsewhere: Mapping[str, type] | None = None
) -> T:
    """Return a TOML table as an instance of its dataclass.

    Args:
        cls: A dataclass whose fields are made by `setting`.
        table: The TOML parser's result.
        where: Table and file, for messages: "[hub] of /etc/portal.toml".
        elsewhere: The other tables by name: the error for a key that belongs to one of them says
            so.

    Raises:
        SettingsError: If a key is unknown, missing, of another type or out of range.
    """
    if not isinstance(table, Mapping):
        raise SettingsError(f"{where} must be a table, with its keys on the lines below it.")
    keys = {key.name: key for key in fields(cls)}  # type: ignore[arg-type]
    kinds = _kinds_of(cls)  # type: ignore[arg-type]
    for name in table:
        # Unknown keys first: a key that is misspelt is also missing.
        if name not in keys:
            raise SettingsError(_unknown_key(name, keys, where, elsewhere or {}))
    for name, key in keys.items():
        if name not in table and is_required(key):
            raise SettingsError(f"{where} lacks the key '{name}'. {field_rule(key).doc}")
    try:
        values = {
            name: read_value(
                value, kinds[name], field_rule(keys[name]), where=f"'{name}' in {where}"
            )
            for name, value in table.items()
        }
        # __post_init__ raises ValueError for keys that contradict each other.
        return cls(**values)
    except ValueError as error:
        raise SettingsError(f"{where}: {error}") from error


# Python compiles the text of each annotation anew.
@functools.cache
def _kinds_of(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _unknown_key(name: str, valid: Iterable[str], where: str, elsewhere: Mapping[str, type]) -> str:
    # Before a guess at the spelling: a key of another table is spelt right.
    for table, cls in elsewhere.items():
        if name in {key.name for key in fields(cls)}:
            return f"Unknown key '{name}' in {where}. It belongs in [{table}]."
    known = list(valid)
    choice = f"Valid keys: {', '.join(known)}." if known else "This table has no keys."
    return f"Unknown key '{name}' in {where}.{closest(name, known)} {choice}"


def read_value(value: Any, kind: Any, rule: Rule, *, where: str) -> Any:
    """Return one value in its own type.

    Args:
        value: The TOML parser's result.
        kind: The type wanted; one that `kind_name` knows.
        rule: Range and further check.
        where: Key, table and file, for messages.

    Returns:
        A value of type `kind`.

    Raises:
        SettingsError: If the value is of another type, out of range or fails the check.
    """
    typed = _convert(value, kind)
    if typed is None:
        raise SettingsError(f"{where} is {value!r}, but must be {_article(kind_name(kind))}.")
    if rule.lowest is not None and typed < rule.lowest:
        raise SettingsError(f"{where} is {value!r}; the smallest value is {rule.lowest:g}.")
    if rule.highest is not None and typed > rule.highest:
        raise SettingsError(f"{where} is {value!r}; the largest value is {rule.highest:g}.")
    if rule.check is not None:
        try:
            rule.check(typed)
        except ValueError as error:
            raise SettingsError(f"{where} is {value!r}: {error}") from error
    return typed


def _convert(value: Any, kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((member for member in kind if member.value == value), None)
    if kind == dict[str, Any]:
        return dict(value) if isinstance(value, Mapping) else None
    if kind is Path:
        # A relative path would be another folder for each program that reads it.
        return Path(value) if isinstance(value, str) and value.startswith("/") else None
    if kind in {tuple[str, ...], tuple[int, ...]}:
        item_kind = get_args(kind)[0]
        # type(), because isinstance would take true for a whole number.
        is_list = isinstance(value, list) and all(type(item) is item_kind for item in value)
        return tuple(value) if is_list else None
    if kind is float:
        # TOML tells 8 from 8.0, administrators do not; a bool is an int in Python.
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        # TOML has inf and nan.
        return float(value) if is_number and math.isfinite(value) else None
    return value if type(value) is kind else None


def _article(words: str) -> str:
    if words[0] == '"' or words.startswith("true"):
        return words
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"
