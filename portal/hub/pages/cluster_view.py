"""Data of the cluster page: GPUs by type, waiting sessions; for administrators all sessions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from portal.hub.pages.suspension import is_suspended
from spawner.amounts import format_age, format_duration
from spawner.forecast.accuracy import Accuracy
from spawner.session.session import Session
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD, UNTYPED, GpuCount
from spawner.slurm.jobs import JobRecord
from spawner.slurm.nodes import Node
from spawner.slurm.states import Phase

# Notebook servers report activity to the hub every five minutes.
_ACTIVE_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRow:
    """One kind of resource: how much is free, used or down.

    Attributes:
        name: For example "v100".
        free: Available to a session now.
        used: Allocated to jobs.
        planned: Reserved by Slurm for pending jobs.
        down: On nodes that accept no jobs.
    """

    name: str
    total: int
    free: int
    used: int
    planned: int
    down: int

    @property
    def used_percent(self) -> float:
        """Share in use, 0 to 100."""
        return 100.0 * self.used / self.total if self.total else 0.0

    @property
    def down_percent(self) -> float:
        """Share that nobody can have, down or planned, 0 to 100."""
        return 100.0 * (self.down + self.planned) / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session of the hub.

    Attributes:
        name: JupyterHub's server name; empty for the session without one.
        node: Empty while it waits.
        state: "waiting", "starting", "running", "suspended" or "stopping".
        since_s: Seconds since its job started, or since submission if it has not.
        idle_s: Seconds without activity; None while it is not running.
        job_id: 0 before it has one.
    """

    user: str
    name: str
    n_gpus: int
    node: str
    state: str
    since_s: float
    idle_s: float | None
    job_id: int

    @property
    def since(self) -> str:
        """`since_s`, formatted."""
        return format_age(self.since_s)

    @property
    def idle(self) -> str:
        """`idle_s`, formatted; "active" up to _ACTIVE_S."""
        if self.idle_s is None:
            return ""
        return "active" if self.idle_s < _ACTIVE_S else format_age(self.idle_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The variable `cluster` in the template.

    Attributes:
        gpus: One row for each GPU type.
        cores: None if Slurm does not answer.
        problem: Why nothing is known of the cluster; else empty.
        n_sessions: Running sessions.
        n_waiting: Sessions that wait in Slurm's queue.
        oldest: The longest wait among these, formatted.
        forecasts: A sentence about the accuracy of forecasts.
        rows: Every session, for administrators; empty for others.
        n_idle_gpus: GPUs that idle sessions hold.
        idle_after: `idle_after_s`, formatted.
        idle_after_s: Seconds without activity after which a session counts as idle.
    """

    gpus: tuple[CountRow, ...] = ()
    cores: CountRow | None = None
    problem: str = ""
    n_sessions: int = 0
    n_waiting: int = 0
    oldest: str = ""
    forecasts: str = ""
    rows: tuple[SessionRow, ...] = ()
    n_idle: int = 0
    n_idle_gpus: int = 0
    idle_after: str = ""
    idle_after_s: float = 0.0


def describe_cluster(
    sessions: Sequence[SessionRow],
    *,
    catalog: Catalog | None,
    problem: str = "",
    accuracy: Accuracy | None = None,
    is_admin: bool = False,
    idle_after_s: float = math.inf,
) -> ClusterView:
    """Return the data of the cluster page.

    `catalog` holds the partitions that users may choose; it is None if Slurm does not answer, and
    `problem` says why. Only with `is_admin` the page tells whose sessions these are.
    """
    waiting = [row for row in sessions if row.state == "waiting"]
    idle = [row for row in sessions if row.idle_s is not None and row.idle_s >= idle_after_s]
    return ClusterView(
        # Counted once for all users who look before Slurm's next answer.
        gpus=catalog.once("gpus by type", lambda: tuple(count_by_type(catalog))) if catalog else (),
        cores=catalog.once("cores", lambda: count_cores(catalog)) if catalog else None,
        problem=problem,
        n_sessions=sum(row.state == "running" for row in sessions),
        n_waiting=len(waiting),
        oldest=format_age(max((row.since_s for row in waiting), default=0.0)),
        forecasts=describe_accuracy(accuracy),
        # Others see counts only, no names.
        rows=tuple(sorted(sessions, key=_by_idleness)) if is_admin else (),
        n_idle=len(idle),
        n_idle_gpus=sum(row.n_gpus for row in idle),
        idle_after=format_duration(idle_after_s),
        idle_after_s=idle_after_s,
    )


def describe_accuracy(accuracy: Accuracy | None) -> str:
    """Return a sentence about the accuracy of forecasts.

    Args:
        accuracy: None before the first session that had to wait.
    """
    if accuracy is None:
        return "No session that had to wait has started yet, so their accuracy is not known yet."
    if accuracy.n_sessions == 1:
        error = format_age(accuracy.median_error_s)
        return f"The forecast of the only session that waited so far was off by {error}."
    side = "later" if accuracy.median_late_s > 0 else "earlier"
    mostly = f" Mostly sessions started {side} than forecast." if accuracy.median_late_s else ""
    return (
        f"Half of the forecasts were off by {format_age(accuracy.median_error_s)} or less, counted"
        f" over the last {accuracy.n_sessions} sessions that waited.{mostly}"
    )


def count_by_type(catalog: Catalog) -> Iterator[CountRow]:
    """Yield a row for each GPU type of a catalog; a node in several partitions counts once."""
    types = {name for node in _distinct_nodes(catalog) for name in node.gpus}
    for name in sorted(types):
        count = sum((node.count_gpus(name) for node in _distinct_nodes(catalog)), start=GpuCount())
        title = {UNTYPED: "GPU", SHARD: "share of a GPU (shard)"}.get(name, name)
        yield CountRow(
            name=title,
            total=count.total,
            free=count.free,
            used=count.used,
            planned=count.planned,
            down=count.down,
        )


def count_cores(catalog: Catalog) -> CountRow:
    """Return the CPU cores of a catalog; a node in several partitions counts once."""
    nodes = _distinct_nodes(catalog)
    idle = {"free": 0, "planned": 0, "down": 0}
    for node in nodes:
        # The cores are those of one partition, the used ones those of all: there may be more used.
        idle[node.idle_are] += max(0, node.n_cores - node.n_cores_used)
    return CountRow(
        name="CPU cores",
        total=sum(node.n_cores for node in nodes),
        used=sum(min(node.n_cores_used, node.n_cores) for node in nodes),
        **idle,
    )


def list_sessions(users: Iterable[Any], now: datetime) -> list[SessionRow]:
    """Return a row for each active session, from what the hub itself knows.

    `users` are JupyterHub's; users with a session are always loaded. `now` has its time zone.
    """
    return [
        _describe_row(user.name, name, spawner, now)
        for user in list(users)
        for name, spawner in list(user.spawners.items())
        if spawner.active
    ]


def _describe_row(user: str, name: str, spawner: Any, now: datetime) -> SessionRow:
    session: Session | None = spawner.session
    record: JobRecord | None = spawner.job_record
    is_started = record is not None and record.state.phase is Phase.RUNNING
    began_at = _parse_start(record) if is_started else None
    if began_at is None and session is not None and session.submitted_at:
        began_at = datetime.fromtimestamp(session.submitted_at, UTC)
    return SessionRow(
        user=user,
        name=name,
        n_gpus=session.n_gpus if session else 0,
        node=record.node if record is not None and is_started else "",
        state=_session_state(spawner, is_started=is_started),
        since_s=max(0.0, (now - began_at).total_seconds()) if began_at else 0.0,
        idle_s=_idle_s(spawner, now) if spawner.ready else None,
        job_id=session.job_id if session else 0,
    )


def _session_state(spawner: Any, *, is_started: bool) -> str:
    if spawner.pending == "stop":
        return "stopping"
    # To JupyterHub a suspended session is ready.
    if is_suspended(spawner):
        return "suspended"
    if spawner.ready:
        return "running"
    return "starting" if is_started else "waiting"


def _idle_s(spawner: Any, now: datetime) -> float | None:
    # JupyterHub stores UTC without a zone.
    last: datetime | None = spawner.orm_spawner.last_activity
    if last is None:
        return None
    return max(0.0, (now - last.replace(tzinfo=UTC)).total_seconds())


def _parse_start(record: JobRecord | None) -> datetime | None:
    try:
        return datetime.fromisoformat(record.starts_at).astimezone() if record else None
    # The time is empty if Slurm does not know it.
    except ValueError:
        return None


def _distinct_nodes(catalog: Catalog) -> list[Node]:
    nodes: dict[str, Node] = {}
    # Partitions that are up come last and win: a node that is free in one of them is free.
    for partition in sorted(catalog.partitions.values(), key=lambda partition: partition.is_up):
        nodes.update((node.name, node) for node in partition.nodes)
    return list(nodes.values())


def _by_idleness(row: SessionRow) -> tuple[float, str, str]:
    return (-(row.idle_s or 0.0), row.user, row.name)
