"""Queue positions of waiting sessions, from one squeue call that all share."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from spawner.cache import Cache
from spawner.errors import SlurmError
from spawner.slurm.squeue import QueuedJob

# The page of a waiting session shows the position, and must not hang with Slurm.
_LONGEST_WAIT_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlace:
    """Queue position of a job. Slurm lets small jobs overtake, so it is no promise.

    Attributes:
        n_jobs: Jobs ahead of it in its partition.
        n_sessions: How many of these are sessions.
    """

    n_jobs: int
    n_sessions: int


def queue_places(jobs: Iterable[QueuedJob]) -> dict[int, QueuePlace]:
    """Return the queue positions by job id, of jobs of kernels and of users as of sessions.

    For a job in several partitions it is the position in the shortest queue.
    """
    places: dict[int, QueuePlace] = {}
    n_jobs: dict[str, int] = {}
    n_sessions: dict[str, int] = {}
    # Of two jobs with the same priority Slurm considers the older one first.
    for job in sorted(jobs, key=lambda job: (-job.priority, job.job_id)):
        counts = [(n_jobs.get(name, 0), n_sessions.get(name, 0)) for name in job.partitions]
        fewest = min(counts)
        # Tasks of an array share its id; the first of them is the next to start.
        places.setdefault(job.job_id, QueuePlace(n_jobs=fewest[0], n_sessions=fewest[1]))
        for name in job.partitions:
            n_jobs[name] = n_jobs.get(name, 0) + 1
            n_sessions[name] = n_sessions.get(name, 0) + job.is_session
    return places


class Queue:
    """The queue of pending jobs, read rarely and shared by all sessions.

    Args:
        stale_s: Seconds for which an expired answer is still used if Slurm does not answer.
    """

    def __init__(
        self,
        list_queue: Callable[[], Awaitable[list[QueuedJob]]],
        *,
        age_s: float = 15.0,
        stale_s: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._list_queue = list_queue
        # A Slurm that does not answer is asked no more often than one that does.
        self._places = Cache(
            self._read_places, fresh_s=age_s, stale_s=stale_s, failure_s=age_s, clock=clock
        )

    async def place(self, job_id: int) -> QueuePlace | None:
        """Return the queue position of a pending job, some seconds old; None if it is not known."""
        with contextlib.suppress(SlurmError):
            await self._places.get_within(_LONGEST_WAIT_S)
        return (self._places.latest() or {}).get(job_id)

    async def _read_places(self) -> dict[int, QueuePlace]:
        # A queue of 100,000 jobs takes a quarter of a second, for which pages must not wait.
        return await asyncio.to_thread(queue_places, await self._list_queue())
