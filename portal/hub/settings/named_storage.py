"""The tables [storage.NAME] of portal.toml: further storage of the site."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.hub.settings.preflight import PreflightSettings
from portal.settings.storage import StorageSettings
from portal.settings.validators import check_folder
from spawner.client.preflight import OnFailure, SharedStorage
from spawner.client.storage import MOST_FOLDERS
from spawner.errors import SettingsError
from spawner.settings.schema import read_named, setting

ISILON = "isilon"
# Name of a link in the home: no slash, and no dot at the beginning, which would hide it.
STORAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}", re.ASCII)
# One folder is the home itself, which the home page asks about, too.
MOST_STORAGE = MOST_FOLDERS - 1
# Names that the portal itself uses in homes.
_TAKEN = frozenset({"templates", "portal-runs"})


def fixed_part(path: str) -> str:
    """Return what of a path comes before the first folder with {user} or {group}."""
    return path.partition("{")[0].rpartition("/")[0] if "{" in path else path


def check_storage_path(path: str) -> str:
    """Refuse anything but an absolute path, in which {user} and {group} may stand."""
    if re.search(r"[{}]", re.sub(r"\{(user|group)\}", "", path)):
        return "only {user} and {group} may stand in braces."
    if "{" in path and not fixed_part(path):
        return "{user} and {group} must stand below a folder, as in /scratch/{user}."
    return check_folder(path)


@dataclass(frozen=True, kw_only=True)
class NamedStorageSettings:
    """Further storage of the site, in every home as a link of that name."""

    path: str = setting(
        "Its path on the compute nodes, and on this host unless check is off. {user} stands for the"
        " user. With {group} there is a link NAME-GROUP for each group of the user whose folder"
        " exists and may be read by the user.",
        example="/scratch/{user}",
        check=check_storage_path,
    )
    label: str = setting("Name on the home page. By default that of the table.", default="")
    read_only: bool = setting(
        "Whether users can only read it: the home page then does not show how full it is.",
        default=False,
    )
    check: OnFailure = setting(
        "What to do if it is missing on this host or does not respond. Use off if this host does"
        " not mount it.",
        default=OnFailure.WARN,
    )
    is_mount: bool = setting(
        "Whether it has to be the root of a mount: an empty folder in its place then counts as"
        " missing.",
        default=False,
    )


@dataclass(frozen=True, kw_only=True)
class SiteStorage(SharedStorage):
    """Storage that every session has: `isilon`, or one that the site has named.

    Attributes:
        folder: What users see of it; may hold {user} or {group}, and then begins with `path`.
        label: Name on the home page.
        read_only: Users only read there.
    """

    folder: str
    label: str
    read_only: bool = False

    @property
    def is_personal(self) -> bool:
        """Whether users have folders of their own there."""
        return self.folder != self.path

    def folder_of(self, user: str) -> str:
        """Return the folder of a user; of a place for groups, what all groups share."""
        is_own = "{group}" not in self.folder and "/" not in user and user not in {".", ".."}
        return self.folder.replace("{user}", user) if is_own else self.path


def all_storage(
    storage: StorageSettings,
    preflight: PreflightSettings,
    named: Mapping[str, NamedStorageSettings],
) -> tuple[SiteStorage, ...]:
    """Return the site's storage, `isilon` first if it has a path."""
    isilon = SiteStorage(
        name=ISILON,
        path=fixed_part(storage.isilon),
        folder=storage.isilon,
        label=ISILON,
        weight=preflight.isilon,
        is_mount=preflight.isilon_is_mount,
    )
    others = (
        SiteStorage(
            name=name,
            path=fixed_part(one.path),
            folder=one.path,
            label=one.label or name,
            read_only=one.read_only,
            weight=one.check,
            is_mount=one.is_mount,
        )
        for name, one in named.items()
    )
    return (*([isilon] if storage.isilon else []), *others)


def split_storage(table: Any) -> tuple[Any, dict[str, Any]]:
    """Return the keys of [storage], and the tables [storage.NAME] by name.

    `table` is the TOML parser's result for [storage].

    Returns:
        A `table` that is none is returned as it is, for the error of `read_table`.
    """
    if not isinstance(table, Mapping):
        return table, {}
    named = {name: one for name, one in table.items() if isinstance(one, Mapping)}
    return {name: one for name, one in table.items() if name not in named}, named


def read_named_storage(named: dict[str, Any], path: Path) -> dict[str, NamedStorageSettings]:
    """Return the tables [storage.NAME] by name.

    `named` has the TOML parser's result for each; `path` is only for messages.
    """
    for name in named:
        # A key of [storage] may not have two meanings.
        if name in _TAKEN or name in StorageSettings.__dataclass_fields__:
            raise SettingsError(
                f"[storage.{name}] of {path}: the name '{name}' is taken. Choose another."
            )
    # One place is kept for isilon.
    if len(named) >= MOST_STORAGE:
        raise SettingsError(
            f"{path} names {len(named)} places [storage.NAME]; {MOST_STORAGE - 1} are the most."
        )
    return read_named(
        *("storage", NamedStorageSettings, named, path),
        is_name=STORAGE_NAME.fullmatch,
        rule="a valid name: letters, digits, '-', '_'",
    )
