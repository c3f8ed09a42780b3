"""All jobs of the cluster for its page, from one squeue call that all its readers share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from spawner.cache import Cache
from spawner.slurm.cluster_jobs import ClusterJob

# A minute old while many have the page open.
_AGE_S = 15.0
_BUSY_FACTOR = 4.0


class ClusterJobs:
    """The jobs that run or wait, read only while somebody looks.

    Args:
        list_jobs: See `Slurm.list_cluster_jobs`.
    """

    def __init__(self, list_jobs: Callable[[], Awaitable[tuple[ClusterJob, ...]]]) -> None:
        self._jobs = Cache(list_jobs, fresh_s=_AGE_S, busy_factor=_BUSY_FACTOR, failure_s=_AGE_S)

    async def read(self, *, patience_s: float) -> tuple[ClusterJob, ...] | None:
        """Return all users' jobs, a minute old at most; None if that takes over `patience_s`."""
        return await self._jobs.get_within(patience_s)
