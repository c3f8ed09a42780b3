"""Finds jobs of this hub that no session knows, and cancels them after a while."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from dsportal.slurm.states import Phase
from spawner.client.slurm import Slurm
from spawner.errors import SlurmError
from spawner.session.session import read_session_id
from spawner.slurm.jobs import JobKey


class OrphanSearch:
    """Searches all jobs of the cluster from time to time.

    A job becomes an orphan when the hub's database is lost or restored from a backup while the
    job runs.

    Args:
        known_ids: Reads the ids of all sessions from the database.
        watched: Returns the jobs that sessions of this hub watch.
    """

    def __init__(
        self,
        slurm: Slurm,
        *,
        hub: str,
        known_ids: Callable[[], set[str]],
        watched: Callable[[], set[JobKey]],
        interval_s: float,
        after_s: float,
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slurm = slurm
        self._hub = hub
        self._known_ids = known_ids
        self._watched = watched
        self._interval_s = interval_s
        self._after_s = after_s
        self._log = log
        self._clock = clock
        self._found_at: dict[JobKey, float] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to search, unless it has started."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    async def search(self) -> list[JobKey]:
        """Search once, cancel the orphans whose time is up, and return all orphans."""
        jobs = await self._slurm.find_jobs()
        watched = self._watched()
        unknown = [job for job in jobs if job.key not in watched]
        # Read after the jobs: a session that began meanwhile is in the database by now. As a rule
        # all jobs are watched; to read thousands of sessions takes a while.
        known = self._known_ids() if unknown else set()
        now = self._clock()
        orphans = []
        for job in unknown:
            session_id = read_session_id(job, self._hub)
            # Without an id it is a job of something else, or of another hub.
            if session_id is None or session_id in known or job.state.phase is Phase.OVER:
                continue
            orphans.append(job.key)
            if job.key not in self._found_at:
                self._log.warning(
                    "Job %d of %s belongs to no session of this hub; it is cancelled in %.0f s",
                    job.key.job_id,
                    job.key.user,
                    self._after_s,
                )
            if now - self._found_at.setdefault(job.key, now) >= self._after_s:
                await self._cancel(job.key)
        self._found_at = {key: self._found_at[key] for key in orphans}
        return orphans

    async def _run(self) -> None:
        while True:
            pause_s = self._interval_s
            try:
                if await self.search():
                    # Look again when the time of the first one may be up.
                    pause_s = min(pause_s, max(1.0, self._after_s))
            except SlurmError as error:
                self._log.debug("No search for orphans: %s", error)
            except Exception:
                # The next search may succeed; without one, orphans would keep their GPUs.
                self._log.exception("A search for orphans failed")
            await asyncio.sleep(pause_s)

    async def _cancel(self, key: JobKey) -> None:
        self._log.warning("Cancelling the orphan job %d of %s", key.job_id, key.user)
        try:
            await self._slurm.cancel(key)
        except SlurmError as error:
            # One job that cannot be cancelled must not keep the others alive.
            self._log.warning(
                "The orphan job %d of %s could not be cancelled: %s",
                key.job_id,
                key.user,
                error.stderr.strip() or error,
            )
