"""One node of the cluster: its state, and its GPUs, cores and memory, total and used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from spawner.slurm.gres import SHARD, GpuCount
from spawner.slurm.resources import ResourcesPerGpu

IdleGpus = Literal["free", "planned", "down"]

_TAKES_JOBS = frozenset({"idle", "mixed", "allocated", "completing", "planned"})
_TAKES_NO_JOBS = frozenset({
    "blocked", "drain", "dynamic_future", "external", "fail", "invalid_reg", "maintenance",
    "not_responding", "perfctrs", "power_down", "powering_down", "reboot_issued",
    "reboot_requested", "reserved",
})  # fmt: skip
# Marks that sinfo appends to a state.
_SUFFIXES = {
    "*": "not_responding", "%": "powering_down", "!": "power_down", "$": "maintenance",
    "@": "reboot_requested", "^": "reboot_issued", "-": "planned", "~": "powered_down",
    "#": "powering_up",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node as a partition offers it.

    Attributes:
        address: Where the head node reaches it (NodeAddr).
        state: Slurm's words for its state, such as "mixed+planned".
        idle_are: What the node's idle GPUs count as: "free", "planned" or "down".
        n_cores: CPUs that jobs of this partition can use on the node.
        n_cores_used: CPUs that jobs hold, whatever their partition.
        memory_mib: Memory in MiB.
        memory_used_mib: Memory that jobs hold, in MiB.
        gpus: Counts by type.
    """

    name: str
    address: str
    state: str
    idle_are: IdleGpus
    n_cores: int
    n_cores_used: int
    memory_mib: int
    memory_used_mib: int
    gpus: Mapping[str, GpuCount]

    def count_gpus(self, gpu_type: str | None = None) -> GpuCount:
        """Return the GPUs of this node, zero if it has none of the type.

        Args:
            gpu_type: A type, `SHARD`, or None for all GPUs without their shards.
        """
        if gpu_type is not None:
            return self.gpus.get(gpu_type, GpuCount())
        counts = [count for name, count in self.gpus.items() if name != SHARD]
        # Mostly: a cluster of thousands of nodes is counted often.
        return counts[0] if len(counts) == 1 else sum(counts, start=GpuCount())

    def startable_gpus(self, shape: ResourcesPerGpu, gpu_type: str | None = None) -> int:
        """Return how many GPUs are free together with their cores and memory."""
        n_free_cores = max(self.n_cores - self.n_cores_used, 0)
        free_memory_mib = max(self.memory_mib - self.memory_used_mib, 0)
        return min(
            self.count_gpus(gpu_type).free,
            n_free_cores // shape.cores_per_gpu,
            free_memory_mib // shape.memory_mib_per_gpu,
        )


def parse_idle_gpus(state: str) -> IdleGpus:
    """Return what the idle GPUs of a node in this state count as.

    Args:
        state: sinfo's StateComplete, such as "mixed+planned" or "idle+drain+not_responding", or
            its StateLong, such as "idle*" or "drained".

    Returns:
        "free" if the node takes jobs, "planned" if the scheduler keeps it for a job of
        higher priority, and "down" in every other state, unknown ones too.

    Source:
        sinfo(1), NODE STATE CODES; the flags of scontrol show node, Slurm 22.05 to 25.11. A
        powered-down node counts as free: Slurm wakes it for a job.
    """
    text = state.strip().lower()
    flags = []
    while text and text[-1] in _SUFFIXES:
        flags.append(_SUFFIXES[text[-1]])
        text = text[:-1]
    base, *words = text.split("+")
    flags += words
    # An unknown state counts as down: what cannot start must not be offered.
    if base not in _TAKES_JOBS or _TAKES_NO_JOBS.intersection(flags):
        return "down"
    return "planned" if "planned" in (base, *flags) else "free"
