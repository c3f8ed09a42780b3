"""The GPUs that kernels of a session hold, in jobs of their own, from Slurm's queue."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dsportal.amounts import SECONDS_PER_HOUR, count
from dsportal.slurm.states import Phase
from spawner.session.queue_status import slurm_time_s
from spawner.slurm.cluster_jobs import ClusterJob


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelGpus:
    """What the kernels of one session hold together.

    Attributes:
        hours: GPUs times hours that these jobs have held so far.
        partitions: Those that they run in.
    """

    n_kernels: int = 0
    n_gpus: int = 0
    hours: float = 0.0
    partitions: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Such as "2 GPUs in 1 kernel"; empty for none."""
        if not self.n_kernels:
            return ""
        return f"{count(self.n_gpus, 'GPU')} in {count(self.n_kernels, 'kernel')}"


NONE = KernelGpus()


def find_kernel_gpus(jobs: Sequence[ClusterJob], session_job_id: int, now: datetime) -> KernelGpus:
    """Return what the kernels of a user's session hold.

    Args:
        jobs: The user's own: anybody can name a job so.
        session_job_id: The session's own job; 0 for none.
        now: With its time zone.
    """
    held = [
        job
        for job in jobs
        if job.session_job_id == session_job_id != 0
        if job.phase is Phase.RUNNING
    ]
    return KernelGpus(
        n_kernels=len(held),
        n_gpus=sum(job.n_gpus for job in held),
        hours=sum(_hours(job, now) for job in held),
        partitions=tuple(sorted({name for job in held for name in job.partitions})),
    )


def _hours(job: ClusterJob, now: datetime) -> float:
    began_s = slurm_time_s(job.starts_at)
    held_s = max(0.0, now.timestamp() - began_s) if began_s else 0.0
    return job.n_gpus * held_s / SECONDS_PER_HOUR
