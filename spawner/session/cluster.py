"""What all spawners of one hub share: Slurm, watcher, catalog and the search for orphans."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spawner.cache import Cache
from spawner.client.command import ClusterAddress
from spawner.client.queue import Queue
from spawner.client.shared_answers import (
    ACCOUNTING_AGE_S,
    BUDGETS_AGE_S,
    GPUS_IN_USE_AGE_S,
    JOBS_AGE_S,
    RESERVATIONS_AGE_S,
)
from spawner.client.slurm import Slurm
from spawner.client.storage import read_spaces
from spawner.client.watcher import Watcher
from spawner.errors import SiteError, SlurmError
from spawner.forecast.accuracy import ForecastRecord
from spawner.forecast.forecaster import Forecaster
from spawner.forecast.query import ForecastQuery
from spawner.session.orphans import OrphanSearch
from spawner.session.start_line import StartLine
from spawner.settings.forecast import ForecastSettings
from spawner.settings.slurm import SlurmSettings
from spawner.settings.traits import read_traits
from spawner.slurm.associations import Associations
from spawner.slurm.budgets import Budgets
from spawner.slurm.cluster_jobs import ClusterJobs
from spawner.slurm.job_script import build_job

if TYPE_CHECKING:
    import logging

    from spawner.options.traits import SiteTraits

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
# Each session that begins or ends changes the free GPUs; of thousands of nodes the list takes half
# a second of the hub.
_CATALOG_REST_FACTOR = 10.0
# A minute while many have the cluster page open.
_JOBS_BUSY_FACTOR = 4.0


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
        catalog: The cluster's partitions, nodes and GPUs, a few seconds old at most.
        jobs: All users' jobs that run or wait.
        reservations: By name, a minute old at most.
        gpus_in_use: The GPUs that all users' running jobs hold, some seconds old at most.
        allocations: The GPUs that a user's jobs have held since a moment, some minutes old. The
            moment is Slurm's local time without a zone. It has to stay the same for a while, as the
            first of the month does.
        uses: What ended jobs used, by their ids as texts.
        spaces: The space of folders of a user by path, some minutes old. A folder is an absolute
            path or "~". One that cannot be read has None.
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
        self.jobs = Cache(
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
            record.with_stem(f"{record.stem}{name}") if traits.forecast_path else None
        )
        self.start_line = StartLine()
        self.allocations = Cache(
            self.slurm.accounting.read_allocations,
            fresh_s=ACCOUNTING_AGE_S,
            failure_s=_FAILURE_AGE_S,
        )
        self.uses = Cache(
            self.slurm.accounting.read_uses,
            fresh_s=ACCOUNTING_AGE_S,
            failure_s=_FAILURE_AGE_S,
        )
        self.spaces = Cache(
            partial(read_spaces, self.slurm.launcher),
            fresh_s=_SPACES_AGE_S,
            failure_s=_FAILURE_AGE_S,
        )
        self._log = log
        self.catalog = Cache(
            self.slurm.read_catalog,
            fresh_s=traits.catalog_age_s,
            busy_factor=_CATALOG_BUSY_FACTOR,
            rest_factor=_CATALOG_REST_FACTOR,
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
        self.reservations = Cache(self.slurm.read_reservations, fresh_s=RESERVATIONS_AGE_S)
        self.gpus_in_use = Cache(self.slurm.list_gpus_in_use, fresh_s=GPUS_IN_USE_AGE_S)
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
        for cache in (self.catalog, self._associations, self._hidden, self._budgets):
            cache.begin()

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

    async def latest_jobs(self, *, patience_s: float) -> ClusterJobs:
        """Return all users' jobs, also older ones, for what is of use without them, too."""
        with contextlib.suppress(SlurmError):
            await self.jobs.get_within(patience_s)
        return self.jobs.latest() or ClusterJobs()

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

    async def read_address(self, node: str) -> str:
        """Return a node's NodeAddr, or its name if Slurm does not know it or does not answer."""
        # However old: a node keeps its address, and only one that was added since is looked up.
        if (known := self.catalog.latest()) and (address := known.address(node)):
            return address
        try:
            return (await self.catalog.get()).address(node) or node
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
