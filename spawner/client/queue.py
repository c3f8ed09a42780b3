"""Queue positions of waiting sessions, from one squeue call that all share."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from dsportal.slurm.listing import Squeue
from spawner.cache import Cache
from spawner.errors import SlurmError
from spawner.slurm.jobs import NAME_PREFIX

# Id, priority, partitions, reason and name of a job.
# Q is the integer priority; p would be a fraction of 1.
QUEUE = Squeue("AQPrj")
# The page of a waiting session shows the position, and must not hang with Slurm.
_LONGEST_WAIT_S = 1.0
# Jobs that could not start now even at the head of the queue.
_OUT_OF_LINE = frozenset({
    "BeginTime",
    "Dependency",
    "DependencyNeverSatisfied",
    "JobHeldAdmin",
    "JobHeldUser",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A pending job.

    Attributes:
        job_id: Slurm's job id; for tasks of an array that of the array.
        priority: Slurm's priority; higher starts earlier.
        partitions: Partitions that it may run in.
        is_session: Whether it is a session of a portal.
    """

    job_id: int
    priority: int
    partitions: tuple[str, ...]
    is_session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlace:
    """Queue position of a job. Slurm lets small jobs overtake, so it is no promise.

    Attributes:
        n_jobs: Jobs ahead of it in its partition.
        n_sessions: How many of these are sessions.
    """

    n_jobs: int
    n_sessions: int


def parse_queue(text: str, mark: str) -> list[QueuedJob]:
    """Return the jobs that compete for a start.

    Held jobs and those that wait for a time or another job are left out.

    Args:
        text: Lines of `QUEUE`; others are skipped.
        mark: Prefix of the lines that Slurm itself wrote.

    Source:
        squeue(1), --format, Slurm 22.05 to 25.11.
    """
    return [
        QueuedJob(
            job_id=int(job_id),
            priority=int(priority),
            partitions=tuple(partitions.split(",")),
            is_session=name.startswith(NAME_PREFIX),
        )
        for job_id, priority, partitions, reason, name in QUEUE.rows(text, mark)
        # Held jobs have the priority 0.
        if job_id.isdecimal() and priority.isdecimal() and priority != "0"
        if reason not in _OUT_OF_LINE
    ]


def queue_places(jobs: Iterable[QueuedJob]) -> dict[int, QueuePlace]:
    """Return the queue positions by job id.

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
        list_queue: See `Slurm.list_queue`.
        age_s: Seconds until an answer expires.
        stale_s: Seconds for which an expired answer is still used if Slurm does not answer.
        clock: Monotonic, in seconds.
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
        return queue_places(await self._list_queue())
