"""Reads portal.toml into frozen dataclasses.

What the file leaves out is refused, not guessed: nobody may log in and no partition is offered
unless it says so.
"""

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from portal.hub.settings.assistant import AssistantSettings
from portal.hub.settings.chat import ChatSettings
from portal.hub.settings.clusters import ClusterSettings, split_clusters
from portal.hub.settings.hub import HubSettings
from portal.hub.settings.hubs import HubsSettings
from portal.hub.settings.limits import GroupSettings, LimitSettings
from portal.hub.settings.login import LoginSettings
from portal.hub.settings.mail import MailSettings
from portal.hub.settings.named_storage import (
    NamedStorageSettings,
    SiteStorage,
    all_storage,
    read_named_storage,
    split_storage,
)
from portal.hub.settings.partitions import PartitionSettings
from portal.hub.settings.preflight import PreflightSettings
from portal.hub.settings.traffic import TrafficSettings
from portal.settings.session_tables import SessionTables
from portal.settings.tools import ToolSettings
from spawner.client.command import ClusterAddress
from spawner.client.preflight import Preflight
from spawner.errors import SettingsError
from spawner.options.traits import WITH_TRAITS
from spawner.settings.choices import ChoiceSettings
from spawner.settings.extension import ExtensionSettings
from spawner.settings.forecast import ForecastSettings
from spawner.settings.schema import closest, kinds_of, read_named, read_table
from spawner.settings.slurm import SlurmSettings
from spawner.settings.traits import trait_values
from spawner.slurm.names import is_name

NOTEBOOK, TERMINAL, VSCODE = "Notebook", "Terminal", "VS Code"
_NOTEBOOK_PAGE = "/tree"
TOOL_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class HubTables:
    """The tables that only the hub and `dsportal` read, by their names in portal.toml."""

    hub: HubSettings
    hubs: HubsSettings
    login: LoginSettings
    choices: ChoiceSettings
    forecast: ForecastSettings
    preflight: PreflightSettings
    slurm: SlurmSettings
    extension: ExtensionSettings
    traffic: TrafficSettings
    mail: MailSettings
    chat: ChatSettings
    assistant: AssistantSettings


@dataclass(frozen=True, kw_only=True)
class Settings(SessionTables, HubTables):
    """All settings of portal.toml."""

    partitions: dict[str, PartitionSettings]
    groups: dict[str, GroupSettings]
    users: dict[str, LimitSettings]
    named_storage: dict[str, NamedStorageSettings]
    clusters: dict[str, tuple[ClusterSettings, "Settings"]]

    @property
    def addresses(self) -> tuple[ClusterAddress, ...]:
        """All clusters, the first one first."""
        further = (
            ClusterAddress(name=name, slurm_conf=str(own.slurm_conf), title=own.title)
            for name, (own, _) in self.clusters.items()
        )
        return (ClusterAddress(title=self.slurm.title if self.clusters else ""), *further)

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
    def pages(self) -> dict[str, str]:
        """The pages of a session on which users may choose to land, by name."""
        # JupyterLab opens the others itself, see labextension_src/src/lab/opens.ts.
        return {
            name: _NOTEBOOK_PAGE if name == NOTEBOOK else f"/lab?{urlencode({'opens': name})}"
            for name in self.choices.opens
            if name != TERMINAL or self.terminals.enabled
        }

    @property
    def sends_messages(self) -> bool:
        """Whether users may choose to be told about their sessions."""
        return bool(self.mail.server) or self.chat.is_offered

    @property
    def site_storage(self) -> tuple[SiteStorage, ...]:
        """The site's storage, `isilon` first."""
        return all_storage(self.storage, self.preflight, self.named_storage)

    @property
    def start_checks(self) -> Preflight:
        """What is checked before a session's job is queued."""
        return Preflight(
            home=self.preflight.home,
            shared=self.site_storage,
            server=self.preflight.server,
            server_path=self.environments.server_program,
            min_free_mib=self.preflight.min_free_mib,
            timeout_s=self.preflight.timeout_s,
        )

    @property
    def datasets(self) -> str:
        """Folder of the data sets for templates; "" for none."""
        if self.storage.datasets or not self.site_storage:
            return self.storage.datasets
        return f"{self.site_storage[0].path}/datasets"


# In the order of the reference and of the example file.
TABLES: dict[str, type] = {
    key.name: kinds_of(Settings)[key.name]
    for key in fields(Settings)
    if isinstance(kinds_of(Settings)[key.name], type)
}


def load_settings(path: Path) -> Settings:
    """Read and check the site's settings."""
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
    known = [*TABLES, "partitions", "groups", "users", "tools", "clusters"]
    for name, value in tables.items():
        if name not in known:
            raise SettingsError(_unknown_table(name, value, known, path))
    # First: a table [storage.NAME] would be an unknown key of [storage].
    storage, named = split_storage(tables.get("storage", {}))
    whole, tables = tables, {**tables, "storage": storage}
    read: dict[str, Any] = {
        name: read_table(cls, tables.get(name, {}), where=f"[{name}] of {path}", elsewhere=TABLES)
        for name, cls in TABLES.items()
    }
    settings = Settings(
        partitions=read_named(
            *("partitions", PartitionSettings, tables.get("partitions", {}), path),
            is_name=is_name,
            rule="the name of a partition",
        ),
        groups=read_named("groups", GroupSettings, tables.get("groups", {}), path),
        users=read_named("users", LimitSettings, tables.get("users", {}), path),
        tools=read_named(
            *("tools", ToolSettings, tables.get("tools", {}), path),
            is_name=TOOL_NAME.fullmatch,
            rule="a valid name: small letters, digits, '-'",
        ),
        named_storage=read_named_storage(named, path),
        # Last: the tables that they change are known to be tables by now.
        clusters={
            name: (own, parse_settings(there, Path(f"{path}, cluster {name}")))
            for name, (own, there) in split_clusters(whole, path).items()
        },
        **read,
    )
    _refuse_partitions(settings, path)
    _refuse_pages(settings, path)
    if settings.hubs.paths and settings.hub.base_url not in settings.hubs.paths:
        raise SettingsError(
            f"base_url in [hub] of {path} is {settings.hub.base_url!r}, which paths in [hubs] does"
            f" not name: {', '.join(settings.hubs.paths)}."
        )
    return settings


def _refuse_pages(settings: Settings, path: Path) -> None:
    known = {NOTEBOOK, TERMINAL, *([VSCODE] if settings.vscode.enabled else [])}
    known |= {tool.title or name for name, tool in settings.tools.items()}
    for page in settings.choices.opens:
        if page not in known:
            raise SettingsError(
                f"opens in [choices] of {path} names {page!r}, which sessions do not have."
                f"{closest(page, known)} They have: {', '.join(sorted(known))}."
            )


def _refuse_partitions(settings: Settings, path: Path) -> None:
    offered = settings.partitions
    # Not all of Slurm's: some may not be meant for sessions.
    if not offered:
        raise SettingsError(
            f"{path} offers no partition. Add a line [partitions.NAME] for each partition of Slurm"
            " that users may choose."
        )
    limits: dict[str, LimitSettings] = {
        f"groups.{name}": limit for name, limit in settings.groups.items()
    }
    limits |= {f"users.{name}": limit for name, limit in settings.users.items()}
    for table, limit in limits.items():
        # One that is misspelt would leave the users of this limit without any.
        for partition in set(limit.partitions) - offered.keys():
            raise SettingsError(
                f"[{table}] of {path} names the partition {partition!r}, which is not offered."
                f"{closest(partition, offered)} Offered: {', '.join(offered)}."
            )


def _unknown_table(name: str, value: Any, known: list[str], path: Path) -> str:
    choice = f"Valid tables: {', '.join(known)}."
    if isinstance(value, dict):
        return f"Unknown table [{name}] in {path}.{closest(name, known)} {choice}"
    return f"The key '{name}' in {path} stands outside any table. {choice}"
