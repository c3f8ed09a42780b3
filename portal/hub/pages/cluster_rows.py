"""Rows of the cluster page: partitions, nodes, and the jobs of the user who looks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from dsportal.amounts import count, format_duration, format_time_left
from dsportal.diagnosis import Situation, explain_waiting
from dsportal.diagnosis.messages import JOB, KERNEL, SESSION
from dsportal.slurm.states import Phase
from portal.hub.formatting import format_gpus, format_memory
from portal.hub.pages.time_tags import render_time
from spawner.session.queue_status import slurm_time_s
from spawner.slurm.catalog import Catalog
from spawner.slurm.cluster_jobs import ClusterJob
from spawner.slurm.gres import SHARD, UNTYPED, GpuCount
from spawner.slurm.nodes import Node

# A page of a thousand rows helps nobody.
MOST_NODES = 100
MOST_JOBS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow:
    """One partition.

    Attributes:
        gpus: Such as "6 of 8 free".
        longest: Its longest job, formatted; empty for no limit.
        n_running: Jobs; None if squeue has not answered.
        n_waiting: Likewise; a job that may run in several partitions waits in each.
    """

    name: str
    is_up: bool
    is_default: bool
    gpus: str
    longest: str
    n_running: int | None
    n_waiting: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node.

    Attributes:
        state: In words, or Slurm's own if it takes no jobs.
        tone: "good", "wait" or "off".
        gpus: Such as "3 of 4 v100 free"; empty for a node without GPUs.
        cores: Such as "24 of 40 free".
        memory: Such as "328 GB of 375 GB free".
    """

    name: str
    state: str
    tone: str
    gpus: str
    cores: str
    memory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """One job of the user who looks, session or not.

    Attributes:
        kind: "session", "kernel" for one of a session's kernels, or empty.
        state: "running" or "waiting".
        when: Time left, or the expected start, as text or HTML; empty if not known.
        why: Why it waits and what to do; empty if it does not.
    """

    job_id: int
    kind: str
    partition: str
    gpus: str
    nodes: str
    state: str
    tone: str
    when: str | Markup
    why: str


def list_partitions(
    catalog: Catalog, n_jobs: Mapping[tuple[str, Phase], int] | None
) -> tuple[PartitionRow, ...]:
    """Return a row for each partition.

    Args:
        n_jobs: Jobs by partition and phase; None if they are not known.
    """
    return tuple(
        PartitionRow(
            name=name,
            is_up=partition.is_up,
            is_default=partition.is_default,
            gpus=_free(catalog.count_gpus(name)),
            longest=format_duration(partition.max_walltime_s) if partition.max_walltime_s else "",
            n_running=None if n_jobs is None else n_jobs.get((name, Phase.RUNNING), 0),
            n_waiting=None if n_jobs is None else n_jobs.get((name, Phase.WAITING), 0),
        )
        for name, partition in catalog.partitions.items()
    )


def list_nodes(nodes: Sequence[Node]) -> tuple[NodeRow, ...]:
    """Return a row for each of the first `MOST_NODES` nodes."""
    return tuple(_describe_node(node) for node in nodes[:MOST_NODES])


def list_own_jobs(
    jobs: Sequence[ClusterJob], *, session_ids: frozenset[int], now: datetime
) -> tuple[JobRow, ...]:
    """Return a row for each of a user's own jobs, those that run first."""
    in_order = sorted(jobs, key=lambda job: (job.phase is not Phase.RUNNING, job.job_id))
    return tuple(_describe_job(job, _kind(job, session_ids), now) for job in in_order)


def _kind(job: ClusterJob, session_ids: frozenset[int]) -> str:
    if job.job_id in session_ids:
        return "session"
    return "kernel" if job.session_job_id in session_ids else ""


def _describe_node(node: Node) -> NodeRow:
    gpus = node.count_gpus()
    takes_jobs = node.idle_are != "down"
    n_free_cores = takes_jobs * max(0, node.n_cores - node.n_cores_used)
    free_memory_mib = takes_jobs * max(0, node.memory_mib - node.memory_used_mib)
    if not takes_jobs:
        state, tone = node.state, "off"
    elif node.idle_are == "planned":
        state, tone = "kept for a job that waits", "wait"
    elif not n_free_cores or (gpus.total and not gpus.free):
        state, tone = "full", "wait"
    else:
        state, tone = ("free" if not node.n_cores_used else "partly used"), "good"
    return NodeRow(
        name=node.name,
        state=state,
        tone=tone,
        gpus=", ".join(_gpus_by_type(node)),
        cores=f"{n_free_cores} of {node.n_cores} free",
        memory=f"{format_memory(free_memory_mib)} of {format_memory(node.memory_mib)} free",
    )


def _gpus_by_type(node: Node) -> Iterator[str]:
    for name, gpus in sorted(node.gpus.items()):
        title = {UNTYPED: "", SHARD: " shards"}.get(name, f" {name}")
        yield f"{gpus.free} of {gpus.total}{title} free"


def _describe_job(job: ClusterJob, kind: str, now: datetime) -> JobRow:
    is_running = job.phase is Phase.RUNNING
    why: str = ""
    when: str | Markup = ""
    if is_running:
        when = f"{format_time_left(job.left_s)} left" if job.left_s is not None else "no limit"
    else:
        subject = {"session": SESSION, "kernel": KERNEL}.get(kind, JOB)
        situation = Situation(subject=subject, n_gpus=job.n_gpus, partition=job.partitions[0])
        why = str(explain_waiting(job.reason, situation))
        if starts_at := slurm_time_s(job.starts_at):
            when = Markup("expected {}").format(render_time(starts_at, now))
    return JobRow(
        job_id=job.job_id,
        kind=kind,
        partition=", ".join(job.partitions),
        gpus=format_gpus(job.n_gpus),
        nodes=count(job.n_nodes, "node"),
        state="running" if is_running else "waiting",
        tone="good" if is_running else "wait",
        when=when,
        why=why,
    )


def _free(gpus: GpuCount) -> str:
    return f"{gpus.free} of {gpus.total} free" if gpus.total else "none"
