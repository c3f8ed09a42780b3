"""Limits of a partition, and what a run may ask of it: a larger one would wait for ever."""

from dataclasses import dataclass

from dsportal.amounts import count, format_duration
from dsportal.launch.layout import Layout
from dsportal.slurm.errors import OptionsError
from dsportal.slurm.units import parse_time_limit

# Nodes, longest job, and nodes of one job, of each group of nodes.
SINFO_FORMAT = "%D|%l|%s"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLimits:
    """What a partition gives one job; what Slurm does not say is no limit.

    Attributes:
        n_nodes: Its nodes, whatever their state; 0 if not known.
        max_nodes: Nodes of one job; None for no limit.
        max_walltime_s: Longest job in seconds; None for no limit.
    """

    n_nodes: int = 0
    max_nodes: int | None = None
    max_walltime_s: int | None = None

    @property
    def most_nodes(self) -> int | None:
        """Nodes that one job gets at most; None if not known."""
        known = [n for n in (self.n_nodes or None, self.max_nodes) if n is not None]
        return min(known, default=None)


def parse_limits(text: str) -> PartitionLimits:
    """Return the limits in what sinfo prints for `SINFO_FORMAT` and one partition.

    Source:
        sinfo(1), Slurm 22.05: %s is such as "1-infinite", "1-2" or "4".
    """
    rows = [line.split("|") for line in text.splitlines()]
    rows = [row for row in rows if len(row) == 3 and row[0].strip().isdecimal()]
    if not rows:
        return PartitionLimits()
    _, time_limit, sizes = rows[0]
    most = sizes.strip().rpartition("-")[2]
    try:
        max_walltime_s = parse_time_limit(time_limit)
    except OptionsError:
        max_walltime_s = None
    return PartitionLimits(
        n_nodes=sum(int(row[0]) for row in rows),
        max_nodes=int(most) if most.isdecimal() else None,
        max_walltime_s=max_walltime_s,
    )


def explain_too_large(
    shape: Layout, walltime_s: int, partition: str, limits: PartitionLimits
) -> str | None:
    """Say why a partition never starts a run, and what to ask for; None if it may start it."""
    # Unless a site has EnforcePartLimits, Slurm takes such jobs and never starts them.
    if 0 < limits.n_nodes < shape.n_nodes:
        return _too_many_nodes(shape, f"partition {partition} has", limits.n_nodes)
    if limits.max_nodes is not None and limits.max_nodes < shape.n_nodes:
        gives = f"partition {partition} gives one job at most"
        return _too_many_nodes(shape, gives, limits.max_nodes)
    if limits.max_walltime_s is not None and limits.max_walltime_s < walltime_s:
        # Rounded down: as many hours as this may be asked for.
        most = limits.max_walltime_s * 100 // 3600 / 100
        gives = f"gives one job at most {format_duration(most * 3600)}"
        return (
            f"You asked for {format_duration(walltime_s)}, but the session's partition {partition} "
            f"{gives}. Choose hours={most:g} or fewer, or start a session in a partition that "
            "gives more."
        )
    return None


def _too_many_nodes(shape: Layout, has: str, most: int) -> str:
    asked = count(shape.n_nodes, "node")
    return (
        f"You asked for {asked}, but the session's {has} {count(most, 'node')}. "
        f"Choose gpus={most * shape.ranks_per_node}, nodes={most}, or start a session in a "
        "partition with more."
    )
