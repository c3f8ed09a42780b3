"""The clusters of one hub, each with what its spawners share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from spawner.client.command import keep_time_zone
from spawner.metrics import show_sessions
from spawner.options.traits import traits_on
from spawner.session.cluster import Cluster
from spawner.session.session import identify_hub
from spawner.slurm.cluster_jobs import ClusterJobs

if TYPE_CHECKING:
    import logging

    from spawner.options.traits import SpawnerTraits

_SETTING = "data_scientist_portal_cluster"


def shared_cluster(
    settings: MutableMapping[str, Any],
    traits: SpawnerTraits,
    *,
    name: str = "",
    known_ids: Callable[[], set[str]],
    log: logging.Logger,
) -> Cluster:
    """Return one of a hub's clusters, made at its first call.

    Args:
        settings: The hub's Tornado settings, which hold them; any values.
        traits: The operator's settings; those of the first caller count.
        name: Of the cluster; empty for the first one.
    """
    clusters: dict[str, Cluster] = settings.setdefault(_SETTING, {})
    if not clusters:
        keep_time_zone()
    if name not in clusters:
        hub = identify_hub(bytes(settings.get("cookie_secret", b"")))
        clusters[name] = Cluster(
            hub=hub, traits=traits_on(traits, name), known_ids=known_ids, log=log, name=name
        )
        show_sessions(clusters[name].watcher.count_states, name)
    return clusters[name]


async def latest_jobs_of(
    clusters: Iterable[Cluster], *, patience_s: float
) -> Mapping[str, ClusterJobs]:
    """Return what `Cluster.latest_jobs` does of each, by name: ids are of one cluster alone."""
    each = tuple(clusters)
    jobs = await asyncio.gather(*(one.latest_jobs(patience_s=patience_s) for one in each))
    return {one.name: its for one, its in zip(each, jobs, strict=True)}
