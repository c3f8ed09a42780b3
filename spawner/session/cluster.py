"""What all spawners of one hub share: Slurm, watcher, catalog and the search for orphans."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsportal.slurm.used import JobUse
from spawner.cache import Cache
from spawner.client.command import ClusterAddress, keep_time_zone
from spawner.client.queue import Queue
from spawner.client.shared_answers import (
    ACCOUNTING_AGE_S,
    BUDGETS_AGE_S,
    GPUS_IN_USE_AGE_S,
    JOBS_AGE_S,
    RESERVATIONS_AGE_S,
)
from spawner.client.slurm import Slurm
from spawner.client.watcher import Watcher
from spawner.errors import SiteError, SlurmError
from spawner.forecast.accuracy import ForecastRecord
from spawner.forecast.forecaster import Forecaster
from spawner.forecast.query import ForecastQuery
from spawner.metrics import show_sessions
from spawner.options.traits import traits_on
from spawner.session.orphans import OrphanSearch
from spawner.session.session import identify_hub
from spawner.session.start_line import StartLine
from spawner.settings.forecast import ForecastSettings
from spawner.settings.slurm import SlurmSettings
from spawner.settings.traits import read_traits
from spawner.slurm.associations import Associations
from spawner.slurm.budgets import Budgets
from spawner.slurm.cluster_jobs import ClusterJobs
from spawner.slurm.job_script import build_job
from spawner.slurm.sacct import Allocation
from spawner.slurm.scontrol import Reservation
from spawner.slurm.squeue import GpusInUse
from spawner.space import Space

if TYPE_CHECKING:
    import logging

    from spawner.options.traits import SiteTraits, SpawnerTraits
    from spawner.slurm.catalog import Catalog

_SPACES_AGE_S = 300.0
# Three times as long while many users ask.
_FORECAST_AGE_S = 60.0
# An administrator may fix what this answer says, and the next start should notice.
_SIGHT_AGE_S = 60.0
# A page that shows hours or space does not ask at each reload while there is no answer.
_FAILURE_AGE_S = 30.0
_BUDGETS_BUSY_FACTOR = 4.0
# Half a minute while many users choose GPUs; sinfo of a thousand nodes is work for slurmctld.
_CATALOG_BUSY_FACTOR = 6.0
# A minute while many have the cluster page open.
_JOBS_BUSY_FACTOR = 4.0
_SETTING = "data_scientist_portal_cluster"


class Cluster:
    """One hub's view of one cluster. Its job ids are those of no other cluster.

    Attributes:
        name: Empty for the first one.
        hub: Identifies this hub in the comments of its jobs.
        slurm: Runs Slurm's commands.
        watcher: Knows the state of every session's job.
        orphans: Finds jobs that no session knows.
        forecaster: Says when a session would start.
        forecasts: Past forecasts and their accuracy.
        start_line: Submits a few starts at once.
    """

    def __init__(
        self,
        *,
        hub: str,
        traits: SiteTraits,
        known_ids: Callable[[], set[str]],
        log: logging.Logger,
        name: str = "",
    ) -> None:
        slurm = read_traits(traits, SlurmSettings)
        self.hub, self.name = hub, name
        self.slurm = Slurm(
            launcher_argv=traits.launcher_argv,
            sudo_argv=traits.sudo_argv,
            address=ClusterAddress(name=name, slurm_conf=getattr(traits, "slurm_conf", "")),
            timeout_s=slurm.timeout_s,
            answers_dir=Path(traits.answers_dir, name) if traits.answers_dir else None,
        )
        self.watcher = Watcher(
            self.slurm.list_jobs,
            self.slurm.accounting.read_ends,
            waiting_s=slurm.watch_waiting_s,
            running_s=slurm.watch_running_s,
            absent_s=traits.absent_s,
            sees_all=self._sees_all,
            log=log,
        )
        self.queue = Queue(self.slurm.list_queue)
        self._jobs = Cache(
            self.slurm.list_cluster_jobs,
            fresh_s=JOBS_AGE_S,
            busy_factor=_JOBS_BUSY_FACTOR,
            failure_s=JOBS_AGE_S,
        )
        self.orphans = OrphanSearch(
            self.slurm,
            hub=hub,
            known_ids=known_ids,
            watched=self.watcher.watched,
            interval_s=traits.orphan_interval_s,
            after_s=traits.orphan_after_s,
            on_jobs=self.watcher.take,
            log=log,
        )
        self.forecaster = Forecaster(
            self._ask_forecast,
            clock=time.monotonic,
            now=lambda: datetime.now().astimezone(),
            asks_per_minute=read_traits(traits, ForecastSettings).asks_per_minute,
            fresh_s=_FORECAST_AGE_S,
        )
        record = Path(traits.forecast_path)
        self.forecasts = ForecastRecord(
            record.with_stem(f"{record.stem}{name}") if traits.forecast_path else None, log=log
        )
        self.start_line = StartLine()
        self._allocations = Cache(
            self.slurm.accounting.read_allocations,
            fresh_s=ACCOUNTING_AGE_S,
            failure_s=_FAILURE_AGE_S,
        )
        self._uses = Cache(
            self.slurm.accounting.read_uses,
            fresh_s=ACCOUNTING_AGE_S,
            failure_s=_FAILURE_AGE_S,
        )
        self._spaces = Cache(
            self.slurm.storage.read_spaces, fresh_s=_SPACES_AGE_S, failure_s=_FAILURE_AGE_S
        )
        self._log = log
        self._catalog = Cache(
            self.slurm.read_catalog, fresh_s=traits.catalog_age_s, busy_factor=_CATALOG_BUSY_FACTOR
        )
        self._associations = Cache(
            self.slurm.accounting.read_associations,
            fresh_s=ACCOUNTING_AGE_S,
            failure_s=_FAILURE_AGE_S,
        )
        self._budgets = Cache(
            self.slurm.accounting.read_budgets,
            fresh_s=BUDGETS_AGE_S,
            busy_factor=_BUDGETS_BUSY_FACTOR,
        )
        self._reservations = Cache(self.slurm.read_reservations, fresh_s=RESERVATIONS_AGE_S)
        self._gpus_in_use = Cache(self.slurm.list_gpus_in_use, fresh_s=GPUS_IN_USE_AGE_S)
        self._hidden = Cache(self.slurm.explain_hidden, fresh_s=_SIGHT_AGE_S)
        self._beginning: asyncio.Future[None] | None = None

    @property
    def associations(self) -> Associations:
        """The last known users and limits of accounting; empty before the first answer."""
        return self._associations.latest() or Associations()

    @property
    def budgets(self) -> Budgets:
        """The last known budgets of all users; none before the first answer."""
        return self._budgets.latest() or Budgets()

    def begin(self) -> None:
        """Start the tasks that run as long as the hub does; does nothing the second time."""
        if self._beginning is None:
            self.orphans.start()
            # Kept, since the event loop has only weak references to tasks.
            self._beginning = asyncio.ensure_future(self._poll_cluster())

    def ask_ahead(self) -> None:
        """Begin the queries that a start waits for one after the other."""
        for cache in (self._catalog, self._associations, self._hidden, self._budgets):
            cache.begin()

    @property
    def known_catalog(self) -> Catalog | None:
        """The last known catalog, however old; None before the first answer."""
        return self._catalog.latest()

    def expire_catalog(self) -> None:
        """Query free resources again next time: a session has begun or ended."""
        self._catalog.expire()

    async def read_catalog(self) -> Catalog:
        """Return the cluster's partitions, nodes and GPUs, a few seconds old at most."""
        return await self._catalog.get()

    async def read_associations(self) -> Associations:
        """Return all associations, some minutes old; older ones if accounting does not answer."""
        try:
            return await self._associations.get()
        except SlurmError as error:
            self._log.warning("Accounts and limits of users are not known: %s", error)
            return self.associations

    async def knows_associations(self, patience_s: float) -> bool:
        """Return whether accounting has answered, be it with an error.

        Waits for the first answer, `patience_s` seconds at most; once there is one it is renewed
        while nobody waits.
        """
        self._associations.begin()
        if self._associations.latest() is not None:
            return True
        try:
            return await self._associations.get_within(patience_s) is not None
        except SlurmError:
            return True

    async def knows_budgets(self, patience_s: float) -> bool:
        """Return whether Slurm was asked about budgets; waits `patience_s` seconds at most."""
        return await self._budgets.get_within(patience_s) is not None

    async def read_budgets_again(self, patience_s: float) -> None:
        """Ask Slurm about budgets now, whatever is known; waits `patience_s` seconds at most."""
        self._budgets.expire()
        await self._budgets.get_within(patience_s)

    async def read_reservations(self) -> Mapping[str, Reservation]:
        """Return the reservations by name, a minute old at most."""
        return await self._reservations.get()

    async def read_jobs(self, *, patience_s: float) -> ClusterJobs | None:
        """Return all users' jobs that run or wait; None if that takes over `patience_s`."""
        return await self._jobs.get_within(patience_s)

    async def latest_jobs(self, *, patience_s: float) -> ClusterJobs:
        """Return what `read_jobs` does, or older ones, for what is of use without them, too."""
        with contextlib.suppress(SlurmError):
            await self._jobs.get_within(patience_s)
        return self._jobs.latest() or ClusterJobs()

    async def read_gpus_in_use(self) -> list[GpusInUse]:
        """Return the GPUs that all users' running jobs hold, some seconds old at most."""
        return await self._gpus_in_use.get()

    async def check_private_data(self) -> None:
        """Refuse to start sessions whose jobs the hub could not see."""
        text = await self._hidden.get()
        if text:
            raise SiteError(text)

    async def _sees_all(self) -> bool:
        try:
            return not await self._hidden.get()
        except SlurmError:
            return False

    async def read_allocations(
        self, user: str, since: datetime, *, patience_s: float
    ) -> list[Allocation] | None:
        """Return the GPUs that a user's jobs held, some minutes old; None without an answer yet.

        `since` is Slurm's local time without a zone. It is part of the cache's key, so it has to
        stay the same for a while, as the first of the month does.
        """
        return await self._allocations.get_within(patience_s, user, since)

    async def read_uses(
        self, job_ids: tuple[int, ...], *, patience_s: float
    ) -> Mapping[str, JobUse] | None:
        """Return what ended jobs used, by their ids as texts; None without an answer yet."""
        return await self._uses.get_within(patience_s, job_ids)

    def forget_allocations(self, user: str) -> None:
        """Query accounting again about a user whose session has ended."""
        self._allocations.forget(lambda other, _: other == user)

    async def read_spaces(
        self, user: str, folders: tuple[str, ...], *, patience_s: float
    ) -> dict[str, Space | None] | None:
        """Return the space of folders by path, some minutes old; None if there is no answer yet.

        A folder is an absolute path or "~". One that cannot be read has None.
        """
        return await self._spaces.get_within(patience_s, user, folders)

    async def read_address(self, node: str) -> str:
        """Return a node's NodeAddr, or its name if Slurm does not know it or does not answer."""
        # However old: a node keeps its address, and only one that was added since is looked up.
        if (known := self._catalog.latest()) and (address := known.address(node)):
            return address
        try:
            return (await self.read_catalog()).address(node) or node
        except SlurmError as error:
            self._log.warning("The address of %s is not known, its name is used: %s", node, error)
            return node

    async def _ask_forecast(self, question: ForecastQuery) -> str:
        return await self.slurm.test_submit(question.user, build_job(question.plan))

    async def _poll_cluster(self) -> None:
        await self.read_associations()
        try:
            await self.check_private_data()
        except SiteError as error:
            self._log.critical("No session can start. %s", error)
        except SlurmError as error:
            self._log.warning("It is not known whether the portal sees all jobs: %s", error)


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
        show_sessions(
            lambda: sum((one.watcher.count_states() for one in clusters.values()), Counter())
        )
    if name not in clusters:
        hub = identify_hub(bytes(settings.get("cookie_secret", b"")))
        clusters[name] = Cluster(
            hub=hub, traits=traits_on(traits, name), known_ids=known_ids, log=log, name=name
        )
    return clusters[name]


async def latest_jobs_of(
    clusters: Iterable[Cluster], *, patience_s: float
) -> Mapping[str, ClusterJobs]:
    """Return what `Cluster.latest_jobs` does of each, by name: ids are of one cluster alone."""
    each = tuple(clusters)
    jobs = await asyncio.gather(*(one.latest_jobs(patience_s=patience_s) for one in each))
    return {one.name: its for one, its in zip(each, jobs, strict=True)}


def find_clusters(settings: Mapping[str, Any]) -> Mapping[str, Cluster]:
    """Return the clusters in the hub's Tornado `settings`; none before a spawner needs them."""
    clusters: Mapping[str, Cluster] = settings.get(_SETTING, {})
    return clusters
