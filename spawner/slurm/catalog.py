"""The cluster's partitions, nodes and GPUs, total and free, from one sinfo call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from dsportal.slurm.errors import OptionsError
from dsportal.slurm.units import parse_time_limit
from spawner.errors import SlurmError
from spawner.slurm.gres import UNTYPED, GpuCount, count_gpus
from spawner.slurm.nodes import Node, parse_idle_gpus
from spawner.slurm.resources import Resources, ResourcesPerGpu

_FIELDS = (
    "PartitionName",
    "Partition",
    "Available",
    "Time",
    "MaxCPUsPerNode",
    "NodeList",
    "NodeAddr",
    "StateComplete",
    "CPUsState",
    "Memory",
    "AllocMem",
    "Gres",
    "GresUsed",
)
_SEPARATOR = "|"
T = TypeVar("T")

# Width 0 is as wide as needed; without it sinfo cuts texts at 20 characters.
SINFO_ARGV = (
    "sinfo",
    "--all",
    "--noheader",
    # Otherwise sinfo may print the least of several nodes and a "+".
    "--exact",
    "--Node",
    "--Format=" + ",".join(f"{field}:0{_SEPARATOR}" for field in _FIELDS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition and its nodes.

    Attributes:
        is_default: Whether jobs that name no partition go there.
        is_up: Whether it starts jobs.
        max_walltime_s: Its longest job in seconds, or None for no limit.
        nodes: In Slurm's order.
    """

    name: str
    is_default: bool
    is_up: bool
    max_walltime_s: int | None
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The cluster at one moment.

    Methods take a partition and a GPU type. No partition is Slurm's default one, or the first if
    there is no default. No type is any GPU. An unknown name has no GPUs.

    Attributes:
        partitions: By name, in Slurm's order.
    """

    partitions: Mapping[str, Partition]
    _known: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, key: Hashable, work_out: Callable[[], T]) -> T:
        """Return the result for `key`, computed once: every user's form asks the same."""
        # Not `spawner.cache.Cache`: a catalog never changes, so nothing expires, and nothing waits.
        if key not in self._known:
            self._known[key] = work_out()
        return cast("T", self._known[key])

    def known(self, key: Hashable) -> Any:
        """Return what was kept for `key`; None if nothing was."""
        return self._known.get(key)

    def keep(self, key: Hashable, result: object) -> None:
        """Keep a result for `key`, of any type, for as long as this is the newest catalog."""
        self._known[key] = result

    @classmethod
    def parse(cls, text: str) -> Catalog:
        """Return the catalog in the output of sinfo; empty for no line.

        Args:
            text: Output of `SINFO_ARGV`, one line for each node of each partition.

        Source:
            sinfo(1), --Format, Slurm 22.05 to 25.11. `tests/unit/spawner/golden` holds captures.
        """
        partitions: dict[str, Partition] = {}
        nodes: dict[str, list[Node]] = {}
        for line in text.splitlines():
            if not line.strip():
                continue
            values = line.rstrip().split(_SEPARATOR)
            # The separator follows each field, also the last.
            if len(values) != len(_FIELDS) + 1:
                raise SlurmError(_unreadable(line), argv=SINFO_ARGV)
            fields = dict(zip(_FIELDS, values, strict=False))
            try:
                name = fields["PartitionName"]
                if name not in partitions:
                    partitions[name], nodes[name] = _parse_partition(fields), []
                nodes[name].append(_parse_node(fields, is_up=partitions[name].is_up))
            except (ValueError, OptionsError) as error:
                raise SlurmError(_unreadable(line), argv=SINFO_ARGV) from error
        return cls(
            partitions={
                name: replace(partition, nodes=tuple(nodes[name]))
                for name, partition in partitions.items()
            }
        )

    @property
    def default_partition(self) -> str | None:
        """Slurm's default partition, or None if it has none."""
        return next((name for name, part in self.partitions.items() if part.is_default), None)

    def address(self, name: str) -> str:
        """Return the NodeAddr of a node; empty for an unknown name."""
        nodes = (node for partition in self.partitions.values() for node in partition.nodes)
        return next((node.address for node in nodes if node.name == name), "")

    def nodes(self, partition: str | None = None) -> tuple[Node, ...]:
        """Return the nodes of a partition; none for an unknown name."""
        found = self._find(partition)
        return found.nodes if found else ()

    def max_walltime_s(self, partition: str | None = None) -> int | None:
        """Return the longest job of a partition in seconds; None for no limit or unknown name."""
        found = self._find(partition)
        return found.max_walltime_s if found else None

    def _find(self, partition: str | None) -> Partition | None:
        if partition is None:
            partition = self.default_partition or next(iter(self.partitions), "")
        return self.partitions.get(partition)

    def gpu_types(self, partition: str | None = None) -> tuple[str, ...]:
        """Return the types that a job can name, sorted: models, MIG profiles and `SHARD`.

        GPUs without a type are left out.
        """
        names = (name for node in self.nodes(partition) for name in node.gpus)
        return self.once(("types", partition), lambda: tuple(sorted({*names} - {UNTYPED})))

    def count_gpus(self, partition: str | None = None, gpu_type: str | None = None) -> GpuCount:
        """Return how many GPUs a partition has; in one that is not up none is free."""
        nodes = self.nodes(partition)
        return self.once(("count", partition, gpu_type), lambda: _sum_gpus(nodes, gpu_type))

    def largest_node_gpus(self, partition: str | None = None, gpu_type: str | None = None) -> int:
        """Return the GPUs of the largest node, free or not: the most that a session could get."""
        # A generator, so that nothing is counted if the result is known. So below.
        totals = (n.count_gpus(gpu_type).total for n in self.nodes(partition))
        return self.once(("largest", partition, gpu_type), lambda: max(totals, default=0))

    def largest_startable_gpus(
        self, shape: ResourcesPerGpu, partition: str | None = None, gpu_type: str | None = None
    ) -> int:
        """Return the most GPUs that one node has free together with their cores and memory."""
        startable = (node.startable_gpus(shape, gpu_type) for node in self.nodes(partition))
        key = ("startable", shape, partition, gpu_type)
        return self.once(key, lambda: max(startable, default=0))

    def has_room(self, resources: Resources, partition: str | None = None) -> bool:
        """Return whether one node has cores and memory free, GPUs left aside."""
        return any(
            node.idle_are == "free"
            and node.n_cores - node.n_cores_used >= resources.n_cores
            and node.memory_mib - node.memory_used_mib >= resources.memory_mib
            for node in self.nodes(partition)
        )

    def nodes_with(
        self, n_gpus: int, partition: str | None = None, gpu_type: str | None = None
    ) -> tuple[Node, ...]:
        """Return the nodes with at least `n_gpus` GPUs, free or not, up or not."""
        nodes = self.nodes(partition)
        return tuple(node for node in nodes if node.count_gpus(gpu_type).total >= n_gpus)


def _parse_partition(fields: Mapping[str, str]) -> Partition:
    """Return the partition of a line, without its nodes."""
    return Partition(
        name=fields["PartitionName"],
        # sinfo marks the default partition with a star behind its name.
        is_default=fields["Partition"] == fields["PartitionName"] + "*",
        is_up=fields["Available"] == "up",
        max_walltime_s=parse_time_limit(fields["Time"]),
        nodes=(),
    )


def _parse_node(fields: Mapping[str, str], *, is_up: bool) -> Node:
    n_cores_used, _, _, n_cores = map(int, fields["CPUsState"].split("/"))
    # Else "UNLIMITED".
    if fields["MaxCPUsPerNode"].isdecimal():
        n_cores = min(n_cores, int(fields["MaxCPUsPerNode"]))
    idle_are = parse_idle_gpus(fields["StateComplete"]) if is_up else "down"
    return Node(
        name=fields["NodeList"],
        address=fields["NodeAddr"],
        state=fields["StateComplete"].lower(),
        idle_are=idle_are,
        n_cores=n_cores,
        n_cores_used=n_cores_used,
        memory_mib=int(fields["Memory"]),
        memory_used_mib=int(fields["AllocMem"]),
        gpus=count_gpus(fields["Gres"], fields["GresUsed"], idle_are=idle_are),
    )


def _unreadable(line: str) -> str:
    return (
        f"sinfo printed a line that cannot be read: {line[:200]!r}. "
        "Ask the administrators to check the release of Slurm."
    )


def _sum_gpus(nodes: Iterable[Node], gpu_type: str | None) -> GpuCount:
    return sum((node.count_gpus(gpu_type) for node in nodes), start=GpuCount())
