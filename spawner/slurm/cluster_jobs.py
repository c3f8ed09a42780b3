"""All users' jobs that run or wait: numbers of all, and each user's own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dsportal.slurm.listing import LongSqueue
from dsportal.slurm.states import Phase, parse_state
from dsportal.slurm.units import parse_time_left
from spawner.slurm.jobs import KERNEL_PREFIX, session_of_kernel
from spawner.slurm.tres import gpus_in_tres

CLUSTER_JOBS = LongSqueue(
    (
        "JobID",
        "UserName",
        "StateCompact",
        "Partition",
        "NumNodes",
        "StartTime",
        "TimeLeft",
        "tres-alloc",
        "Reason",
        "Name",
    )
)
CLUSTER_JOBS_STATES = "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED"
_PENDING = "PD"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJob:
    """One job that runs or waits.

    Attributes:
        job_id: Slurm's; the tasks of an array that wait have one together.
        phase: WAITING or RUNNING.
        partitions: Those that it may run in, or the one that it runs in.
        n_gpus: On all its nodes together.
        starts_at: When it started, or is expected to: Slurm's local time; empty if not known.
        left_s: Seconds until its limit; None if it has none.
        reason: Slurm's word for why it waits.
        name: A text of the user's.
        session_job_id: Of a job that its user has named as a kernel's are, the job of the kernel's
            session; else 0. Only one of the same user tells something.
    """

    job_id: int
    user: str
    phase: Phase
    partitions: tuple[str, ...]
    n_nodes: int
    n_gpus: int
    starts_at: str
    left_s: int | None
    reason: str
    name: str = ""
    session_job_id: int = 0


@dataclass(frozen=True, slots=True)
class ClusterJobs:
    """One answer of squeue. Of its jobs, only those that somebody asks for become objects.

    Attributes:
        n_by_partition: Jobs by partition and phase; a job that may run in several partitions counts
            in each.
    """

    n_by_partition: Mapping[tuple[str, Phase], int] = field(default_factory=dict)
    _nonce: str = ""
    _lines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _kernels: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, nonce: str) -> ClusterJobs:
        """Return the jobs in the output of squeue.

        Args:
            text: Lines of `CLUSTER_JOBS`; others are skipped.
        """
        counts: Counter[tuple[str, str]] = Counter()
        running, waiting = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        kernels = defaultdict[str, list[str]](list)
        for row in CLUSTER_JOBS.rows(text, nonce):
            _, user, state, partitions, *_, name = row
            if not _is_job(row):
                continue
            counts[partitions, state] += 1
            line = nonce.join(row)
            (waiting if state == _PENDING else running)[user].append(line)
            if name.startswith(KERNEL_PREFIX):
                kernels[user].append(line)
        n_by_partition: Counter[tuple[str, Phase]] = Counter()
        for (partitions, state), n_jobs in counts.items():
            for partition in partitions.split(","):
                n_by_partition[partition, parse_state(state).phase] += n_jobs
        lines = {user: running[user] + waiting[user] for user in [*running, *waiting]}
        return cls(n_by_partition, nonce, lines, dict(kernels))

    @property
    def users(self) -> frozenset[str]:
        """Everybody who has a job."""
        return frozenset(self._lines)

    def count(self, user: str) -> int:
        """Return how many jobs a user has."""
        return len(self._lines.get(user, ()))

    def of(self, user: str, *, n_most: int) -> tuple[ClusterJob, ...]:
        """Return a user's jobs, up to a number of them, those that wait last."""
        return self._read(self._lines.get(user, ())[:n_most])

    def kernels_of(self, user: str) -> tuple[ClusterJob, ...]:
        """Return those of a user's jobs that are named as those of kernels are."""
        return self._read(self._kernels.get(user, ()))

    def _read(self, lines: Sequence[str]) -> tuple[ClusterJob, ...]:
        return parse_cluster_jobs("\n".join(lines), self._nonce) if lines else ()


def parse_cluster_jobs(text: str, nonce: str) -> tuple[ClusterJob, ...]:
    """Return the jobs in the output of squeue.

    Args:
        text: Lines of `CLUSTER_JOBS`; others are skipped.

    Source:
        squeue(1), --Format, Slurm 22.05 to 25.11. For a job that waits, tres-alloc is what it asks
        for.
    """
    return tuple(_read(*row) for row in CLUSTER_JOBS.rows(text, nonce) if _is_job(row))


def _is_job(row: Sequence[str]) -> bool:
    return row[0].isdecimal() and row[4].isdecimal()


def _read(
    job_id: str,
    user: str,
    state: str,
    partitions: str,
    n_nodes: str,
    start: str,
    left: str,
    tres: str,
    reason: str,
    name: str,
) -> ClusterJob:
    return ClusterJob(
        job_id=int(job_id),
        user=user,
        phase=parse_state(state).phase,
        partitions=tuple(partitions.split(",")),
        n_nodes=int(n_nodes),
        n_gpus=gpus_in_tres(tres).get("", 0),
        starts_at="" if start == "N/A" else start,
        left_s=parse_time_left(left),
        reason=reason.strip(),
        name=name,
        session_job_id=session_of_kernel(name),
    )
