"""What all spawners of one hub share: Slurm, watcher, catalog and the search for orphans."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, MutableMapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spawner.forecast import Forecaster, Question
from spawner.orphans import OrphanSearch
from spawner.question import job_of
from spawner.script import parse_extra_options
from spawner.session import identify_hub
from spawner.slurm import Slurm
from spawner.watcher import Watcher

if TYPE_CHECKING:
    import logging

    from spawner.catalog import Catalog
    from spawner.traits import SiteTraits

_SETTING = "data_scientist_portal_cluster"


class Cluster:
    """One hub's view of its cluster.

    Attributes:
        hub: Name of this hub in the comments of its jobs.
        slurm: Runs commands.
        watcher: Knows the state of every session's job.
        orphans: Finds jobs that no session knows.
        forecaster: Says when a session would start.
    """

    def __init__(
        self,
        *,
        hub: str,
        traits: SiteTraits,
        known_marks: Callable[[], set[str]],
        log: logging.Logger,
    ) -> None:
        self.hub = hub
        self.slurm = Slurm(
            launcher_argv=traits.launcher_argv,
            sudo_argv=traits.sudo_argv,
            timeout_s=traits.slurm_timeout_s,
        )
        self.watcher = Watcher(
            self.slurm.list_jobs,
            self.slurm.read_ends,
            waiting_s=traits.watch_waiting_s,
            running_s=traits.watch_running_s,
            absent_s=traits.absent_s,
            log=log,
        )
        self.orphans = OrphanSearch(
            self.slurm,
            hub=hub,
            known_marks=known_marks,
            interval_s=traits.orphan_interval_s,
            after_s=traits.orphan_after_s,
            log=log,
        )
        self.forecaster = Forecaster(
            self._ask_forecast,
            clock=time.monotonic,
            now=lambda: datetime.now().astimezone(),
            asks_per_minute=traits.forecasts_per_minute,
            fresh_s=traits.forecast_age_s,
        )
        self._extra_options = parse_extra_options(getattr(traits, "req_options", ""))
        self._catalog_age_s = traits.catalog_age_s
        self._catalog: Catalog | None = None
        self._catalog_read_at = 0.0
        self._reading: asyncio.Future[Catalog] | None = None

    async def read_catalog(self) -> Catalog:
        """Return what the cluster offers, asked a few seconds ago at most.

        Returns:
            Partitions, nodes and GPUs.

        Raises:
            SlurmUnavailableError: If Slurm did not answer.
        """
        is_fresh = time.monotonic() - self._catalog_read_at <= self._catalog_age_s
        if self._catalog is not None and is_fresh:
            return self._catalog
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self.slurm.read_catalog())
        # One reader that goes away must not take the answer from the others.
        catalog = await asyncio.shield(self._reading)
        self._catalog, self._catalog_read_at = catalog, time.monotonic()
        return catalog

    async def read_address(self, node: str) -> str:
        """Return where a node is reached.

        Args:
            node: Slurm's name of the node.

        Returns:
            Its NodeAddr; its name where Slurm does not answer just now or does not know it.

        Raises:
            SlurmUnavailableError: If Slurm did not answer and no earlier answer is at hand.
        """
        catalog = self._catalog
        address = catalog and _address_in(catalog, node)
        if not address:
            address = _address_in(await self.read_catalog(), node)
        return address or node

    async def _ask_forecast(self, question: Question) -> str:
        return await self.slurm.test_submit(question.user, job_of(question, self._extra_options))


def shared_cluster(
    settings: MutableMapping[str, Any],
    traits: SiteTraits,
    *,
    known_marks: Callable[[], set[str]],
    log: logging.Logger,
) -> Cluster:
    """Return the one cluster of a hub.

    Args:
        settings: The hub's own settings, where it is kept.
        traits: The operator's settings; those of the first caller count.
        known_marks: Returns the marks of all sessions in the hub's database.
        log: Where failures go.

    Returns:
        The same object for every spawner of the hub.
    """
    cluster: Cluster | None = settings.get(_SETTING)
    if cluster is None:
        hub = identify_hub(bytes(settings.get("cookie_secret", b"")))
        cluster = Cluster(hub=hub, traits=traits, known_marks=known_marks, log=log)
        settings[_SETTING] = cluster
    return cluster


def _address_in(catalog: Catalog, name: str) -> str:
    for partition in catalog.partitions.values():
        for node in partition.nodes:
            if node.name == name:
                return node.address
    return ""
