"""What the hub tells the programs of a session: tables of settings as one JSON variable.

Hub and session may be of different releases: a queued job starts with the code of the release in
use by then. So an unknown key is ignored, and what is missing has its default.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from spawner.errors import SettingsError
from spawner.settings.schema import read_table

T = TypeVar("T")

VARIABLE = "PORTAL_SETTINGS"
# Beside the tables: which server extensions run, whatever a file of the user's says.
EXTENSIONS = "extensions"
# And what the user of the session may ask for, an entry of `group_limits`.
LIMITS = "limits"
# Titles of the clusters besides the session's own; set only where the site has several.
OTHER_CLUSTERS = "PORTAL_OTHER_CLUSTERS"
_NEXT_STEP = (
    "The hub sets it: start the session again, and if that does not help, tell the administrators."
)


def plain_table(table: Any) -> dict[str, Any]:
    """Return a table, an instance of its dataclass, as JSON has it."""
    return {key.name: _plain(getattr(table, key.name)) for key in fields(table)}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


def told_tables(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the hub told this session, by table; empty without the variable."""
    try:
        told = json.loads(environ.get(VARIABLE) or "{}")
    except ValueError as error:
        raise SettingsError(f"{VARIABLE} cannot be read: {error}. {_NEXT_STEP}") from error
    if not isinstance(told, dict):
        raise SettingsError(f"{VARIABLE} is no object. {_NEXT_STEP}")
    return told


def told_table(told: Any, cls: type[T], where: str) -> T:
    """Return one table of a session.

    Args:
        told: The table as JSON has it.
    """
    if isinstance(told, dict):
        known = {key.name for key in fields(cls)}  # type: ignore[arg-type]
        told = {name: value for name, value in told.items() if name in known}
    try:
        return read_table(cls, told, where=f"[{where}] of {VARIABLE}")
    except SettingsError as error:
        raise SettingsError(f"{error} {_NEXT_STEP}") from error


def read_told(environ: Mapping[str, str], cls: type[T], name: str) -> T:
    """Return the table `name` of this session as its dataclass `cls`."""
    return told_table(told_tables(environ).get(name, {}), cls, name)
