"""Data of the cluster page: GPUs by type, partitions, nodes, queue, own jobs, forecasts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from dsportal.amounts import format_age
from portal.hub.pages.all_sessions import SessionRow
from portal.hub.pages.cluster_rows import (
    MOST_JOBS,
    MOST_NODES,
    JobRow,
    NodeRow,
    PartitionRow,
    list_nodes,
    list_own_jobs,
    list_partitions,
)
from spawner.forecast.accuracy import Accuracy
from spawner.slurm.catalog import Catalog
from spawner.slurm.cluster_jobs import ClusterJobs
from spawner.slurm.gres import SHARD, UNTYPED, GpuCount
from spawner.slurm.nodes import Node


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
class ClusterView:
    """The variable `cluster` in the template.

    Attributes:
        gpus: One row for each GPU type.
        cores: None if Slurm does not answer.
        partitions: Those that users may choose.
        nodes: Their nodes, MOST_NODES at most.
        n_more_nodes: How many others there are.
        jobs: Those of the user who looks, MOST_JOBS at most.
        n_more_jobs: How many others there are.
        problem: Why nothing is known of the cluster; else empty.
        jobs_problem: Why nothing is known of jobs; else empty.
        n_sessions: Running sessions.
        n_waiting: Sessions that wait in Slurm's queue.
        oldest: The longest wait among these, formatted.
        forecasts: A sentence about the accuracy of forecasts.
    """

    gpus: tuple[CountRow, ...] = ()
    cores: CountRow | None = None
    partitions: tuple[PartitionRow, ...] = ()
    nodes: tuple[NodeRow, ...] = ()
    n_more_nodes: int = 0
    jobs: tuple[JobRow, ...] = ()
    n_more_jobs: int = 0
    problem: str = ""
    jobs_problem: str = ""
    n_sessions: int = 0
    n_waiting: int = 0
    oldest: str = ""
    forecasts: str = ""


def describe_cluster(
    sessions: Sequence[SessionRow],
    *,
    catalog: Catalog | None,
    problem: str = "",
    jobs: ClusterJobs | None = None,
    jobs_problem: str = "",
    user: str = "",
    accuracy: Accuracy | None = None,
    now: datetime | None = None,
) -> ClusterView:
    """Return the data of the cluster page.

    Of the `sessions` and of other users' jobs the page has numbers only, no names.

    Args:
        jobs: All jobs of the cluster; None if they are not known.
    """
    now = now or datetime.now().astimezone()
    nodes = catalog.once("nodes", lambda: _distinct_nodes(catalog)) if catalog else []
    session_ids = frozenset(row.job_id for row in sessions if row.job_id)
    own = jobs.of(user, n_most=MOST_JOBS) if jobs else ()
    n_jobs = jobs.n_by_partition if jobs else None
    waiting = [row for row in sessions if row.state == "waiting"]
    return ClusterView(
        # Counted once for all users who look before Slurm's next answer.
        gpus=catalog.once("gpus by type", lambda: tuple(count_by_type(catalog))) if catalog else (),
        cores=catalog.once("cores", lambda: count_cores(catalog)) if catalog else None,
        partitions=list_partitions(catalog, n_jobs) if catalog else (),
        nodes=catalog.once("node rows", lambda: list_nodes(nodes)) if catalog else (),
        n_more_nodes=max(0, len(nodes) - MOST_NODES),
        jobs=list_own_jobs(own, session_ids=session_ids, now=now),
        n_more_jobs=jobs.count(user) - len(own) if jobs else 0,
        problem=problem,
        jobs_problem=jobs_problem,
        n_sessions=sum(row.state == "running" for row in sessions),
        n_waiting=len(waiting),
        oldest=format_age(max((row.since_s for row in waiting), default=0.0)),
        forecasts=describe_accuracy(accuracy),
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


def _distinct_nodes(catalog: Catalog) -> list[Node]:
    nodes: dict[str, Node] = {}
    # Partitions that are up come last and win: a node that is free in one of them is free.
    for partition in sorted(catalog.partitions.values(), key=lambda partition: partition.is_up):
        nodes.update((node.name, node) for node in partition.nodes)
    return list(nodes.values())
