"""Data of the sessions that administrators see: who holds what, for how long, and uses it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dsportal.amounts import format_age, format_duration, format_time_left
from dsportal.slurm.states import Phase
from portal.hub.pages.kernel_gpus import NONE, KernelGpus, find_kernel_gpus
from portal.hub.pages.suspension import is_suspended
from spawner.hub.session_mixin import SessionMixin
from spawner.session.queue_status import slurm_time_s
from spawner.session.session import Session
from spawner.slurm.cluster_jobs import ClusterJobs
from spawner.slurm.jobs import JobRecord

# Notebook servers report activity to the hub every five minutes.
_ACTIVE_S = 600.0
# Seconds without activity after which the page marks a session as idle.
IDLE_AFTER_S = 3600.0
_NO_JOBS: Mapping[str, ClusterJobs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session of the hub.

    Attributes:
        name: JupyterHub's server name; empty for the session without one.
        node: Empty while it waits.
        partition: Empty if Slurm chooses it.
        state: "waiting", "starting", "running", "suspended" or "stopping".
        since_s: Seconds since its job started, or since submission if it has not.
        left_s: Seconds until its time limit; None if it has none, or it is not known.
        idle_s: Seconds without activity; None while it is not running.
        job_id: 0 before it has one.
        kernels: What its kernels hold in jobs of their own.
        cluster: Name of its cluster; empty for the first one.
    """

    user: str
    name: str
    n_gpus: int
    node: str
    partition: str
    state: str
    since_s: float
    left_s: int | None
    idle_s: float | None
    job_id: int
    kernels: KernelGpus = NONE
    cluster: str = ""

    @property
    def since(self) -> str:
        """`since_s`, formatted."""
        return format_age(self.since_s)

    @property
    def left(self) -> str:
        """`left_s`, formatted; empty if it is not known."""
        return "" if self.left_s is None else format_time_left(self.left_s)

    @property
    def gpu_hours(self) -> str:
        """GPUs times hours since its job started, with its kernels' jobs; empty before."""
        hours = self.n_gpus * self.since_s / 3600 + self.kernels.hours
        return f"{hours:.1f}" if self.node else ""

    @property
    def n_all_gpus(self) -> int:
        """Its GPUs and those of its kernels."""
        return self.n_gpus + self.kernels.n_gpus

    @property
    def use(self) -> str:
        """`idle_s` as "idle for 2 h 5 min"; "active" up to _ACTIVE_S."""
        if self.idle_s is None:
            return ""
        return "active" if self.idle_s < _ACTIVE_S else f"idle for {format_age(self.idle_s)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdministrationView:
    """The variable `administration` in the template.

    Attributes:
        rows: Every session, the one that is idle for longest first.
        n_gpus: GPUs that they hold together.
        n_idle_gpus: GPUs that idle sessions hold.
        idle_after: `idle_after_s`, formatted.
        idle_after_s: See `IDLE_AFTER_S`.
    """

    rows: tuple[SessionRow, ...]
    n_running: int
    n_waiting: int
    n_gpus: int
    n_idle: int
    n_idle_gpus: int
    idle_after: str
    idle_after_s: float


def describe_administration(sessions: Sequence[SessionRow]) -> AdministrationView:
    """Return the data of the administrators' page."""
    idle = [row for row in sessions if row.idle_s is not None and row.idle_s >= IDLE_AFTER_S]
    return AdministrationView(
        rows=tuple(sorted(sessions, key=_by_idleness)),
        n_running=sum(row.state == "running" for row in sessions),
        n_waiting=sum(row.state == "waiting" for row in sessions),
        n_gpus=sum(row.n_all_gpus for row in sessions if row.node),
        n_idle=len(idle),
        n_idle_gpus=sum(row.n_all_gpus for row in idle),
        idle_after=format_duration(IDLE_AFTER_S),
        idle_after_s=IDLE_AFTER_S,
    )


def list_sessions(
    users: Iterable[Any], now: datetime, jobs: Mapping[str, ClusterJobs] = _NO_JOBS
) -> list[SessionRow]:
    """Return a row for each active session, from what the hub itself knows.

    `users` are JupyterHub's; users with a session are always loaded. `now` has its time zone.
    Of the `jobs` by cluster those of the sessions' kernels count.
    """
    return [
        _describe_row(user.name, name, spawner, now, jobs)
        for user in list(users)
        for name, spawner in list(user.spawners.items())
        if spawner.active
    ]


def _describe_row(
    user: str, name: str, spawner: SessionMixin, now: datetime, jobs: Mapping[str, ClusterJobs]
) -> SessionRow:
    session: Session | None = spawner.session
    cluster = session.cluster if session else ""
    kernels = jobs.get(cluster, ClusterJobs()).kernels_of(user)
    record: JobRecord | None = spawner.job_record
    is_started = record is not None and record.state.phase is Phase.RUNNING
    began_s = slurm_time_s(record.starts_at) if record is not None and is_started else 0.0
    began_s = began_s or (session.submitted_at if session else 0.0)
    return SessionRow(
        user=user,
        name=name,
        n_gpus=session.n_gpus if session else 0,
        node=record.node if record is not None and is_started else "",
        partition=session.partition if session else "",
        state=_session_state(spawner, is_started=is_started),
        since_s=max(0.0, now.timestamp() - began_s) if began_s else 0.0,
        left_s=spawner.left_s if is_started else None,
        idle_s=_idle_s(spawner, now) if spawner.ready else None,
        job_id=session.job_id if session else 0,
        kernels=find_kernel_gpus(kernels, session.job_id if session else 0, now),
        cluster=cluster,
    )


def _session_state(spawner: SessionMixin, *, is_started: bool) -> str:
    if spawner.pending == "stop":
        return "stopping"
    # To JupyterHub a suspended session is ready.
    if is_suspended(spawner):
        return "suspended"
    if spawner.ready:
        return "running"
    return "starting" if is_started else "waiting"


def _idle_s(spawner: SessionMixin, now: datetime) -> float | None:
    # JupyterHub stores UTC without a zone.
    last: datetime | None = spawner.orm_spawner.last_activity
    if last is None:
        return None
    return max(0.0, (now - last.replace(tzinfo=UTC)).total_seconds())


def _by_idleness(row: SessionRow) -> tuple[float, str, str]:
    return (-(row.idle_s or 0.0), row.user, row.name)
