"""Nodes of Slurm, for tests of what is asked of them."""

from spawner.slurm.gres import GpuCount
from spawner.slurm.nodes import Node


def idle_node(name: str, **gpus: GpuCount) -> Node:
    """Return a free node of 40 cores with these GPUs by type."""
    return Node(
        name=name,
        address=f"{name}.cluster",
        state="idle",
        idle_are="free",
        n_cores=40,
        n_cores_used=0,
        memory_mib=384000,
        memory_used_mib=0,
        gpus=gpus,
    )
