"""The tables [clusters.NAME] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spawner.errors import SettingsError
from spawner.settings.schema import closest, read_table, setting

CLUSTER_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}", re.ASCII)
# What may differ: what a session gets and may ask for. The rest is of the hub, or of all sessions.
_OWN_TABLES = (
    *("partitions", "choices", "resources", "rescue", "groups", "users", "storage", "preflight"),
    *("environments", "notebooks", "kernel_jobs"),
)
# Names of one cluster are none of another.
_REPLACED = ("partitions", "groups", "users")


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """A further cluster, with a Slurm of its own, that users may choose on the form."""

    title: str = setting("Name of the cluster on the form.", example="Volta")
    slurm_conf: Path = setting(
        "Its slurm.conf on this host. As root, add the line NAME=PATH to clusters.env beside"
        " portal.toml, too, since the launcher takes no path from the hub.",
        example="/etc/slurm-volta/slurm.conf",
    )


def split_clusters(
    tables: Mapping[str, Any], path: Path
) -> dict[str, tuple[ClusterSettings, dict[str, Any]]]:
    """Return the lines of each cluster, and the tables of the whole file as they are there."""
    clusters = tables.get("clusters", {})
    if not isinstance(clusters, Mapping):
        raise SettingsError(f"'clusters' of {path} must hold a table [clusters.NAME] for each.")
    found = {}
    for name, table in clusters.items():
        if not CLUSTER_NAME.fullmatch(name) or not isinstance(table, Mapping):
            raise SettingsError(
                f"[clusters.{name!r}] of {path} is not a valid name with its keys: small letters,"
                " digits, '-'."
            )
        changed = {key: value for key, value in table.items() if isinstance(value, Mapping)}
        for key in changed:
            if key not in _OWN_TABLES:
                raise SettingsError(
                    f"[clusters.{name}.{key}] of {path}: [{key}] is the same for all clusters."
                    f"{closest(key, _OWN_TABLES)} Those of a cluster: {', '.join(_OWN_TABLES)}."
                )
        own = {key: value for key, value in table.items() if key not in changed}
        merged = {
            key: value if key in _REPLACED else {**tables.get(key, {}), **value}
            for key, value in changed.items()
        }
        rest = {key: value for key, value in tables.items() if key != "clusters"}
        settings = read_table(ClusterSettings, own, where=f"[clusters.{name}] of {path}")
        found[name] = (settings, {**rest, **merged})
    return found
