"""Data of a user's past sessions and jobs of kernels, from accounting, for the home page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from dsportal.amounts import format_age
from dsportal.slurm.states import JobState, Phase
from dsportal.slurm.used import JobUse
from portal.hub.formatting import format_gpus
from spawner.slurm.sacct import Allocation

NO_USES: Mapping[str, JobUse] = MappingProxyType({})
MOST_SESSIONS = 10

# How a session ended, for somebody who looks back; why, the page of its end said at the time.
_ENDS = {
    JobState.COMPLETED: "Completed",
    JobState.CANCELLED: "Stopped",
    JobState.TIMEOUT: "Time limit reached",
    JobState.DEADLINE: "Time limit reached",
    JobState.OUT_OF_MEMORY: "Out of memory",
    JobState.NODE_FAIL: "Node failed",
    JobState.BOOT_FAIL: "Node failed",
    JobState.PREEMPTED: "Preempted by another job",
    JobState.FAILED: "Failed",
}
_PLANNED = frozenset({
    JobState.COMPLETED,
    JobState.CANCELLED,
    JobState.TIMEOUT,
    JobState.DEADLINE,
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSession:
    """One session, or one job of a kernel, that has ended.

    Attributes:
        started_at: Seconds since 1970 (UTC).
        gpus: Such as "2 GPUs".
        length: How long it ran, formatted.
        end: How it ended, in a few words.
        has_failed: Its end was nobody's wish.
        is_kernel: It was the job of a kernel.
        used: What it used of what it held; "" if not known.
        advice: What to ask for next time; "" for nothing.
        cluster: Title of its cluster; empty where the site has one.
    """

    started_at: float
    gpus: str
    length: str
    end: str
    has_failed: bool
    is_kernel: bool = False
    used: str = ""
    advice: str = ""
    cluster: str = ""


def list_past_sessions(
    allocations: Sequence[Allocation], uses: Mapping[str, JobUse] = NO_USES
) -> tuple[PastSession, ...]:
    """Return the last sessions that have ended, the newest first, and what each job used."""
    return tuple(
        _describe(one, ends_at, uses.get(str(one.job_id))) for one, ends_at in _newest(allocations)
    )


def _describe(one: Allocation, ends_at: datetime, use: JobUse | None) -> PastSession:
    if use is not None and use.mean_gpu_percent is None:
        # By the portal's own meter.
        use = replace(use, mean_gpu_percent=one.gpu_percent)
    return PastSession(
        started_at=one.starts_at.timestamp(),
        gpus=format_gpus(one.n_gpus),
        length=format_age((ends_at - one.starts_at).total_seconds()),
        end=_ENDS.get(one.state, "Ended"),
        has_failed=one.state in _ENDS and one.state not in _PLANNED,
        is_kernel=one.is_kernel,
        used=use.amounts if use is not None else "",
        advice=use.advice if use is not None else "",
    )


def newest_sessions(allocations: Sequence[Allocation]) -> tuple[int, ...]:
    """Return the jobs of these sessions."""
    return tuple(one.job_id for one, _ in _newest(allocations))


def _newest(allocations: Sequence[Allocation]) -> list[tuple[Allocation, datetime]]:
    ended = [
        (one, one.ends_at)
        for one in allocations
        if one.is_session or one.is_kernel
        if one.ends_at is not None and one.state.phase is Phase.OVER
    ]
    return sorted(ended, key=lambda pair: pair[0].starts_at, reverse=True)[:MOST_SESSIONS]
