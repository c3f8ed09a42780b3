"""Settings, each one field of a table's dataclass: kind, help, default, range and check.

That line is the key of portal.toml, the trait of the spawner, what a session is told and a row of
the reference.
"""

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
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "an absolute path",
    tuple[str, ...]: "a list of texts",
    tuple[int, ...]: "a list of whole numbers",
    dict[str, Any]: "a table",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a key may hold, beyond its type.

    Args:
        example: Value for the example file, if the default is not a good one.
        lowest: Smallest number accepted; None for no limit.
        highest: Largest number accepted; None for no limit.
        check: Returns a sentence if a value of the right type is wrong, else an empty text.
        needed: When a key with a default is required after all: "required with ...".
        trait: Name of the spawner's trait; empty for the key's own, None for no trait. Only tables
            of the spawner have traits.
    """

    doc: str
    example: Any = None
    lowest: float | None = None
    highest: float | None = None
    check: Callable[[Any], str] | None = None
    needed: str = ""
    trait: str | None = ""


def setting(doc: str, *, default: Any = MISSING, **rule: Any) -> Any:
    """Return a dataclass field that carries a `Rule`.

    Args:
        default: Value if the file leaves the key out; without one the key is required.
        rule: Further arguments of `Rule`.
    """
    metadata = {"rule": Rule(doc=doc, **rule)}
    # Dataclasses refuse a mutable default.
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def rule_of(key: Field[Any]) -> Rule:
    """Return the rule of a field, `key`, made by `setting`."""
    rule: Rule = key.metadata["rule"]
    return rule


def default_of(key: Field[Any]) -> Any:
    """Return the default of a field, `key`; MISSING if the file has to give it."""
    return key.default if key.default_factory is MISSING else key.default_factory()


# Python compiles the text of each annotation anew.
@functools.cache
def kinds_of(cls: type) -> dict[str, Any]:
    """Return the type of each key of a table."""
    return get_type_hints(cls)


def kind_name(kind: Any) -> str:
    """Return what administrators call a type, for example "a whole number".

    Args:
        kind: One of the types in KIND_NAMES, or an Enum whose values are strings.
    """
    if kind in KIND_NAMES:
        return KIND_NAMES[kind]
    return " or ".join(f'"{member.value}"' for member in kind)


def closest(name: str, valid: Iterable[str]) -> str:
    """Return " Did you mean 'x'?", with its leading space, or "" if no valid name is near."""
    matches = difflib.get_close_matches(name, list(valid), n=1)
    return f" Did you mean '{matches[0]}'?" if matches else ""


def read_table(
    cls: type[T], table: Any, *, where: str, elsewhere: Mapping[str, type] | None = None
) -> T:
    """Return a table of TOML or JSON as an instance of its dataclass.

    Args:
        cls: A dataclass whose fields are made by `setting`.
        where: Table and file, for messages: "[hub] of /etc/portal.toml".
        elsewhere: The other tables by name: the error for a key that belongs to one of them says
            so.
    """
    if not isinstance(table, Mapping):
        raise SettingsError(f"{where} must be a table, with its keys on the lines below it.")
    keys = {key.name: key for key in fields(cls)}  # type: ignore[arg-type]
    kinds = kinds_of(cls)  # type: ignore[arg-type]
    for name in table:
        # Unknown keys first: a key that is misspelt is also missing.
        if name not in keys:
            raise SettingsError(_unknown_key(name, keys, where, elsewhere or {}))
    for name, key in keys.items():
        if name not in table and default_of(key) is MISSING:
            raise SettingsError(f"{where} lacks the key '{name}'. {rule_of(key).doc}")
    values = {}
    for name, value in table.items():
        try:
            values[name] = _read_value(value, kinds[name], rule_of(keys[name]))
        except ValueError as error:
            raise SettingsError(f"'{name}' in {where} is {value!r}{error}") from error
    try:
        # __post_init__ raises ValueError for keys that contradict each other.
        return cls(**values)
    except ValueError as error:
        raise SettingsError(f"{where}: {error}") from error


def read_named(
    kind: str,
    cls: type[T],
    tables: Any,
    path: Path,
    *,
    is_name: Callable[[str], object] = bool,
    rule: str = "a name",
) -> dict[str, T]:
    """Return the tables [kind.NAME] by name.

    Args:
        tables: The TOML parser's result for each.
        is_name: False for a name that cannot be one.
        rule: What a name is, as a message ends.
    """
    if not isinstance(tables, dict):
        raise SettingsError(f"'{kind}' of {path} must hold a table [{kind}.NAME] for each.")
    for name in tables:
        if not is_name(name):
            raise SettingsError(f"[{kind}.{name!r}] of {path} is not {rule}.")
    return {
        name: read_table(cls, keys, where=f"[{kind}.{name}] of {path}")
        for name, keys in tables.items()
    }


def _unknown_key(name: str, valid: Iterable[str], where: str, elsewhere: Mapping[str, type]) -> str:
    # Before a guess at the spelling: a key of another table is spelt right.
    for table, cls in elsewhere.items():
        if name in {key.name for key in fields(cls)}:
            return f"Unknown key '{name}' in {where}. It belongs in [{table}]."
    known = list(valid)
    choice = f"Valid keys: {', '.join(known)}." if known else "This table has no keys."
    return f"Unknown key '{name}' in {where}.{closest(name, known)} {choice}"


def _read_value(value: Any, kind: Any, rule: Rule) -> Any:
    typed = _convert(value, kind)
    if typed is None:
        raise ValueError(f", but must be {kind_name(kind)}.")
    if rule.lowest is not None and typed < rule.lowest:
        raise ValueError(f"; the smallest value is {rule.lowest:g}.")
    if rule.highest is not None and typed > rule.highest:
        raise ValueError(f"; the largest value is {rule.highest:g}.")
    try:
        why = rule.check(typed) if rule.check is not None else ""
    # Of urllib, for a port above 65535.
    except ValueError as error:
        why = str(error)
    if why:
        raise ValueError(f": {why}")
    return typed


def _convert(value: Any, kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((member for member in kind if member.value == value), None)
    if kind == dict[str, Any]:
        return dict(value) if isinstance(value, Mapping) else None
    if kind is Path:
        # A relative path would be another folder for each program that reads it.
        return Path(value) if isinstance(value, str) and value.startswith("/") else None
    # type(), because isinstance would take true for a whole number.
    if items := get_args(kind):
        is_list = isinstance(value, list) and all(type(item) is items[0] for item in value)
        return tuple(value) if is_list else None
    if kind is float:
        # TOML tells 8 from 8.0, administrators do not; it has inf and nan, too.
        return float(value) if type(value) in {int, float} and math.isfinite(value) else None
    return value if type(value) is kind else None
