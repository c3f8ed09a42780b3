"""Polls Slurm for all sessions of the hub with one squeue call."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from dsportal.slurm.states import Phase
from spawner.client.watch import Watch, forget_news
from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.slurm.jobs import JobEnd, JobKey, JobRecord, match_job

ListJobs = Callable[[Sequence[int]], Awaitable[list[JobRecord]]]
ReadEnds = Callable[[Sequence[JobKey]], Awaitable["dict[JobKey, JobEnd] | None"]]
Wait = Callable[[asyncio.Event, float], Awaitable[None]]

# Requests for a look that come this close together share one.
_CLOSEST_S = 0.2
_MOST_EARLY_LOOKS = 4
_LONGEST_BACK_OFF_S = 60.0
# So that one empty answer, such as that of a slurmctld that has just started, ends no session.
_FEWEST_ABSENCES = 3
# More than these at once are rather a fault of Slurm's answer, which has to last.
_MOST_LOST_AT_ONCE = 3
_DOUBT_S = 60.0


async def _see_all() -> bool:
    return True


class Watcher:
    """Polls Slurm for all watched jobs at once, one query at a time.

    While somebody waits, the looks between two at all jobs are at those that are waited for.

    Args:
        list_jobs: Answers for many job ids with one call; see `Slurm.list_jobs`.
        waiting_s: Seconds between queries while somebody waits.
        running_s: Seconds between queries otherwise, and between looks at all jobs.
        absent_s: Seconds after which a job counts as over if squeue does not show it and accounting
            does not know it or is not kept.
        sees_all: Whether Slurm shows the hub all users' jobs; if not, an absent one may run.
        wait: Waits for an event, for some seconds at most.

    Attributes:
        answered_at: When Slurm answered last, in seconds since 1970 (UTC); 0 before that.
    """

    def __init__(
        self,
        list_jobs: ListJobs,
        read_ends: ReadEnds,
        *,
        waiting_s: float,
        running_s: float,
        absent_s: float,
        sees_all: Callable[[], Awaitable[bool]] = _see_all,
        clock: Callable[[], float] = time.monotonic,
        wait: Wait | None = None,
        log: logging.Logger | None = None,
    ) -> None:
        self._list_jobs = list_jobs
        self._read_ends = read_ends
        self._waiting_s = waiting_s
        self._running_s = running_s
        self._absent_s = absent_s
        self._sees_all = sees_all
        self._doubted_at: float | None = None
        self._clock = clock
        self._wait = wait or _wait_for
        self._log = log or logging.getLogger(__name__)
        self._watches: set[Watch] = set()
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._looked = asyncio.Event()
        self._wanted: set[Watch] = set()
        self._looked_at = -_LONGEST_BACK_OFF_S
        self._looked_at_all_at = -math.inf
        self._early_looks = float(_MOST_EARLY_LOOKS)
        self._n_failures = 0
        self.answered_at = 0.0

    @property
    def is_silent(self) -> bool:
        """Whether Slurm did not answer the last query."""
        return self._n_failures > 0

    def watch(self, key: JobKey, *, is_hot: bool, on_news: Callable[[], None]) -> Watch:
        """Start to watch a job; what is returned changes as Slurm answers.

        `is_hot` says that somebody waits for it; `on_news` is called when something changes.
        """
        watch = Watch(key, is_hot=is_hot, on_news=on_news)
        self._watches.add(watch)
        self._wake.set()
        # The loop ends when nothing is left to watch.
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())
        return watch

    def forget(self, watch: Watch) -> None:
        """Stop watching a job."""
        # A query that is under way may still find it.
        watch.on_news = forget_news
        self._wanted.discard(watch)
        self._watches.discard(watch)

    def watched(self) -> set[JobKey]:
        """Return the jobs that sessions have watched."""
        return {watch.key for watch in self._watches}

    def count_states(self) -> Counter[str]:
        """Return the numbers of watched jobs by "waiting", "starting" and "running".

        A job is "starting" while it runs but its server has not answered yet.
        """
        return Counter(watch.state for watch in self._watches if not watch.is_over)

    def poll_soon(self, watch: Watch) -> None:
        """Query a job before the regular time, as often as the average rate allows."""
        self._wanted.add(watch)
        self._wake.set()

    def set_end(self, watch: Watch, *, left_s: int, ends_at: str) -> None:
        """Set an end that Slurm has just accepted, whatever a query under way returns."""
        watch.set_end(self._clock(), left_s=left_s, ends_at=ends_at)

    def left_s(self, watch: Watch) -> int | None:
        """Return how many seconds a job has left.

        Returns:
            Whole seconds, 0 or more; None if it does not run, has no limit, or is not known yet.
        """
        return watch.left_s(self._clock())

    async def next_poll(self, timeout_s: float) -> bool:
        """Wait for Slurm's next answer, `timeout_s` at most; return whether it came."""
        event = self._looked
        await self._wait(event, timeout_s)
        return event.is_set()

    async def _run(self) -> None:
        while self._watches:
            due_at = self._due_at()
            while (pause_s := self._pause_s(due_at)) > 0:
                self._wake.clear()
                await self._wait(self._wake, pause_s)
                # Each wake-up draws new jitter: without `min`, many of them could put a query off
                # for ever.
                due_at = min(due_at, self._due_at())
            try:
                await self._poll()
            except Exception:
                # Every session of the hub hangs on this loop, so no fault may end it.
                self._log.exception("A look at Slurm failed")
                self._n_failures += 1

    def _due_at(self) -> float:
        is_hot = any(watch.is_hot for watch in self._watches)
        interval_s = self._waiting_s if is_hot else self._running_s
        looked_at = self._looked_at if is_hot or self._n_failures else self._looked_at_all_at
        if self._n_failures:
            interval_s = max(
                interval_s, min(_LONGEST_BACK_OFF_S, self._waiting_s * 2**self._n_failures)
            )
        # Jitter, so that several hubs of one cluster do not query at the same moments.
        return looked_at + interval_s * random.uniform(1.0, 1.1)  # noqa: S311

    def _pause_s(self, due_at: float) -> float:
        is_early = bool(self._wanted) and self._early_looks >= 1 and not self._n_failures
        return (self._looked_at + _CLOSEST_S if is_early else due_at) - self._clock()

    async def _poll(self) -> None:
        now = self._clock()
        # A token bucket: a query costs one, each waiting_s returns one, so the average rate stays.
        gained = (now - self._looked_at) / self._waiting_s
        self._early_looks = min(_MOST_EARLY_LOOKS, self._early_looks + gained) - 1
        wanted, self._wanted, self._looked_at = self._wanted, set(), now
        is_whole = now - self._looked_at_all_at >= self._running_s
        watches = [
            watch
            for watch in self._watches
            if not watch.is_gone
            and (is_whole or watch.is_hot or watch.record is None or watch in wanted)
        ]
        try:
            records = await self._list_jobs(sorted({watch.key.job_id for watch in watches}))
        except SlurmError as error:
            self._n_failures += 1
            # Once for each outage, not for each query.
            if self._n_failures == 1:
                self._log.warning("No session is touched: %s (%s)", error, error.stderr.strip())
            return
        if self._n_failures:
            self._log.warning("Slurm answers again after %d failures", self._n_failures)
        if is_whole:
            self._looked_at_all_at = now
        # For pages, so not the monotonic clock.
        self._n_failures, self.answered_at = 0, time.time()
        by_id = {record.key.job_id: record for record in records}
        absent = []
        for watch in watches:
            record = by_id.get(watch.key.job_id)
            # Slurm gives an id out again when its numbers wrap around: the name has to match, too.
            if record is not None and match_job(watch.key, [record]):
                watch.see(record, now)
            else:
                absent.append(watch)
        if absent:
            await self._evaluate_absent(absent, is_whole=is_whole)
        elif is_whole:
            self._doubted_at = None
        self._looked.set()
        # Whoever waits holds the old event.
        self._looked = asyncio.Event()

    async def _evaluate_absent(self, absent: Sequence[Watch], *, is_whole: bool) -> None:
        try:
            ends = await self._read_ends([watch.key for watch in absent]) or {}
        except SlurmUnavailableError as error:
            # Neither seen nor denied: nothing changes until one of the two answers.
            self._log.debug("Accounting cannot confirm: %s", error.stderr.strip())
            return
        now = self._clock()
        lost = []
        for watch in absent:
            end = ends.get(watch.key)
            if end is not None:
                # squeue may hide a job from the hub; a job that accounting calls alive is kept.
                if end.state.phase is Phase.OVER:
                    watch.mark_gone()
                continue
            watch.n_absences += 1
            if watch.absent_since is None:
                watch.absent_since = now
            is_long = now - watch.absent_since >= self._absent_s
            if is_long and watch.n_absences >= _FEWEST_ABSENCES:
                lost.append(watch)
        if await self._is_certain(len(lost), now, is_whole=is_whole):
            for watch in lost:
                self._log.warning(
                    "Job %d of %s has not been in Slurm for %.0f s; it is taken for over",
                    watch.key.job_id,
                    watch.key.user,
                    now - (watch.absent_since or now),
                )
                watch.mark_gone()

    async def _is_certain(self, n_lost: int, now: float, *, is_whole: bool) -> bool:
        """Return whether so many jobs are gone of which Slurm does not say how they ended."""
        if not n_lost:
            # A look at few jobs says nothing of the others.
            if is_whole:
                self._doubted_at = None
            return True
        sees_all = await self._sees_all()
        if n_lost <= _MOST_LOST_AT_ONCE and sees_all:
            return True
        if self._doubted_at is None:
            self._doubted_at = now
            self._log.error(
                "Slurm shows %s, and accounting does not say how they ended. Their sessions go on "
                "until it says the same %s",
                f"{n_lost} of {len(self._watches)} jobs of sessions no longer",
                f"for {_DOUBT_S:.0f} s" if sees_all else "and shows this account all users' jobs",
            )
        return sees_all and now - self._doubted_at >= _DOUBT_S


async def _wait_for(event: asyncio.Event, timeout_s: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except TimeoutError:
        return
