"""Reads portal.toml into frozen dataclasses.

What the file leaves out is refused, not guessed: nobody may log in and no partition is offered
unless it says so.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from portal.hub.settings.hub import HubSettings
from portal.hub.settings.limits import LimitSettings, PartitionSettings
from portal.hub.settings.login import LoginSettings
from portal.hub.settings.pages import CullerSettings, PageSettings
from portal.hub.settings.places import (
    PlaceSettings,
    SharedStorage,
    read_places,
    split_storage,
    storage_places,
)
from portal.hub.settings.preflight import PreflightSettings
from portal.hub.settings.traffic import TrafficSettings
from portal.settings.session_tables import SessionTables
from portal.settings.tools import ToolSettings
from spawner.errors import SettingsError
from spawner.settings.schema import closest, kinds_of, read_table
from spawner.settings.tables import (
    WITH_TRAITS,
    ChoiceSettings,
    ExtensionSettings,
    ForecastSettings,
    SlurmSettings,
)
from spawner.settings.traits import trait_values
from spawner.slurm.names import is_name

DEFAULT_SETTINGS_PATH = Path("/etc/data-scientist-portal/portal.toml")
TOOL_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class HubTables:
    """The tables that only the hub and `dsportal` read, by their names in portal.toml."""

    hub: HubSettings
    login: LoginSettings
    choices: ChoiceSettings
    forecast: ForecastSettings
    preflight: PreflightSettings
    slurm: SlurmSettings
    extension: ExtensionSettings
    culler: CullerSettings
    pages: PageSettings
    traffic: TrafficSettings


@dataclass(frozen=True, kw_only=True)
class Settings(SessionTables, HubTables):
    """All settings of portal.toml."""

    partitions: dict[str, PartitionSettings]
    groups: dict[str, LimitSettings]
    users: dict[str, LimitSettings]
    named_storage: dict[str, PlaceSettings]

    @property
    def trait_values(self) -> dict[str, Any]:
        """The values of the spawner's traits that keys decide, by name."""
        values = {
            "partitions": list(self.partitions),
            # Those with a rule of their own for cores and memory.
            "partition_shapes": {
                name: shape for name, one in self.partitions.items() if (shape := one.shape)
            },
            "group_limits": {name: limit.entry for name, limit in self.groups.items()},
            "user_limits": {name: limit.entry for name, limit in self.users.items()},
        }
        for name, cls in TABLES.items():
            if issubclass(cls, WITH_TRAITS):
                values |= trait_values(getattr(self, name))
        return values

    @property
    def places(self) -> tuple[SharedStorage, ...]:
        """The site's storage, `isilon` first."""
        return storage_places(self.storage, self.preflight, self.named_storage)

    @property
    def datasets(self) -> str:
        """Folder of the data sets for templates; "" for none."""
        if self.storage.datasets or not self.places:
            return self.storage.datasets
        return f"{self.places[0].path}/datasets"


# In the order of the reference and of the example file.
TABLES: dict[str, type] = {
    key.name: kinds_of(Settings)[key.name]
    for key in fields(Settings)
    if isinstance(kinds_of(Settings)[key.name], type)
}


def load_settings(path: Path) -> Settings:
    """Read and check the site's settings.

    Raises:
        SettingsError: If the file cannot be read, is not TOML, or has a key that is unknown,
            missing, of another type or out of range. The message names file and key.
    """
    try:
        with path.open("rb") as file:
            tables = tomllib.load(file)
    except OSError as error:
        raise SettingsError(
            f"The settings file {path} cannot be read: {error.strerror}. Write one with"
            " 'dsportal config example', or name another with --settings."
        ) from error
    # A file that is not UTF-8 is one of these, too.
    except ValueError as error:
        raise SettingsError(f"{path} is not TOML: {error}.") from error
    return parse_settings(tables, path)


def parse_settings(tables: dict[str, Any], path: Path) -> Settings:
    """Check parsed TOML and return it as settings.

    `tables` is the TOML parser's result; `path` is only for messages.
    """
    known = [*TABLES, "partitions", "groups", "users", "tools"]
    for name, value in tables.items():
        if name not in known:
            raise SettingsError(_unknown_table(name, value, known, path))
    # First: a table [storage.NAME] would be an unknown key of [storage].
    storage, named = split_storage(tables.get("storage", {}))
    tables = {**tables, "storage": storage}
    read: dict[str, Any] = {
        name: read_table(cls, tables.get(name, {}), where=f"[{name}] of {path}", elsewhere=TABLES)
        for name, cls in TABLES.items()
    }
    partitions = _read_partitions(tables.get("partitions", {}), path)
    return Settings(
        partitions=partitions,
        groups=_read_limits("groups", tables.get("groups", {}), partitions, path),
        users=_read_limits("users", tables.get("users", {}), partitions, path),
        tools=_read_tools(tables.get("tools", {}), path),
        named_storage=read_places(named, path),
        **read,
    )


def _unknown_table(name: str, value: Any, known: list[str], path: Path) -> str:
    choice = f"Valid tables: {', '.join(known)}."
    if isinstance(value, dict):
        return f"Unknown table [{name}] in {path}.{closest(name, known)} {choice}"
    return f"The key '{name}' in {path} stands outside any table. {choice}"


def _read_partitions(table: Any, path: Path) -> dict[str, PartitionSettings]:
    # Not all of Slurm's: some may not be meant for sessions.
    if not isinstance(table, dict) or not table:
        raise SettingsError(
            f"{path} offers no partition. Add a line [partitions.NAME] for each partition of Slurm"
            " that users may choose."
        )
    for name in table:
        if not is_name(name):
            raise SettingsError(f"[partitions.{name!r}] of {path} is not the name of a partition.")
    return {
        name: read_table(PartitionSettings, keys, where=f"[partitions.{name}] of {path}")
        for name, keys in table.items()
    }


def _read_limits(
    kind: str, table: Any, offered: Collection[str], path: Path
) -> dict[str, LimitSettings]:
    if not isinstance(table, dict):
        raise SettingsError(f"'{kind}' of {path} must hold a table [{kind}.NAME] for each name.")
    limits = {
        name: read_table(LimitSettings, keys, where=f"[{kind}.{name}] of {path}")
        for name, keys in table.items()
    }
    for name, limit in limits.items():
        for partition in limit.partitions:
            # One that is misspelt would leave the users of this limit without any.
            if partition not in offered:
                raise SettingsError(
                    f"[{kind}.{name}] of {path} names the partition {partition!r}, which is not"
                    f" offered.{closest(partition, offered)} Offered: {', '.join(offered)}."
                )
    return limits


def _read_tools(table: Any, path: Path) -> dict[str, ToolSettings]:
    if not isinstance(table, dict):
        raise SettingsError(f"'tools' of {path} must hold a table [tools.NAME] for each web tool.")
    for name in table:
        if not TOOL_NAME.fullmatch(name):
            raise SettingsError(
                f"[tools.{name!r}] of {path} is not a valid name: small letters, digits, '-'."
            )
    return {
        name: read_table(ToolSettings, keys, where=f"[tools.{name}] of {path}")
        for name, keys in table.items()
    }
