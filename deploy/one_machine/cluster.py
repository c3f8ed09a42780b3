"""Nodes and GPUs of the cluster on this machine, real or simulated."""

import contextlib
import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deploy.one_machine.gpus import Gpu, find_gpus
from deploy.one_machine.network import Host
from spawner.settings.resources import ResourceSettings

N_SIMULATED_GPUS_OF_NODE = 4
DEFAULT_SIMULATED_TYPES = ("v100",)
# The machine need not have them: SlurmdParameters=config_overrides makes slurm.conf decide.
SIMULATED_CORES = 40
SIMULATED_MEMORY_MIB = 384_000
DEFAULT_N_SIMULATED_NODES = 2
MOST_SIMULATED_NODES = 8
# Left to the daemons and the hub on a machine whose real memory Slurm hands out.
REAL_MEMORY_SHARE = 0.9

CGROUP_DIR = Path("/sys/fs/cgroup")
# Source: cgroup.conf(5), Slurm 22.05: what proctrack, task and jobacct_gather need of version 1.
CONTROLLERS = ("freezer", "memory", "devices", "cpuacct")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A compute node."""

    host: Host
    n_cores: int
    memory_mib: int
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The whole cluster.

    Args:
        nodes: At least one.
        has_simulated_gpus: The GPUs are device files without a driver.
        has_cgroups: Slurm can put jobs into control groups.
    """

    nodes: tuple[Node, ...]
    has_simulated_gpus: bool
    has_cgroups: bool

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Names and addresses of the nodes."""
        return tuple(node.host for node in self.nodes)

    @property
    def cores_per_gpu(self) -> int:
        """CPU cores that come with each GPU: the rule's, or fewer so that all can be in use."""
        shares = (node.n_cores // len(node.gpus) for node in self.nodes)
        return max(1, min(ResourceSettings().cores_per_gpu, *shares))

    @property
    def memory_gib_per_gpu(self) -> int:
        """Memory that comes with each GPU, GiB: the rule's, or less so that all can be in use."""
        shares = (node.memory_mib // 1024 // len(node.gpus) for node in self.nodes)
        return max(1, min(round(ResourceSettings().memory_per_gpu_gib), *shares))


def simulated_hosts(n_nodes: int) -> tuple[Host, ...]:
    """Return names and addresses of nodes: node01, node02 and so on."""
    return tuple(
        Host(name=f"node{number:02}", address=f"10.77.0.{10 + number}")
        for number in range(1, n_nodes + 1)
    )


def simulated_gpus(gres_type: str) -> tuple[Gpu, ...]:
    """Return the GPUs of a simulated node, all of one type."""
    return tuple(Gpu(minor=minor, gres_type=gres_type) for minor in range(N_SIMULATED_GPUS_OF_NODE))


@functools.cache
def describe_cluster(
    n_simulated_nodes: int = DEFAULT_N_SIMULATED_NODES,
    simulated_types: tuple[str, ...] = DEFAULT_SIMULATED_TYPES,
) -> Cluster:
    """Return the cluster that suits this machine.

    Args:
        n_simulated_nodes: Nodes of a machine without GPUs.
        simulated_types: Slurm's names of their GPUs' types; the nodes have these in turn.

    Returns:
        One node with the machine's NVIDIA GPUs, or `n_simulated_nodes` with four simulated ones
        each.
    """
    gpus = tuple(find_gpus())
    if gpus:
        memory_mib = int(parse_memory_mib(Path("/proc/meminfo").read_text()) * REAL_MEMORY_SHARE)
        n_cores = os.cpu_count() or 1
        nodes: tuple[Node, ...] = (
            Node(host=simulated_hosts(1)[0], n_cores=n_cores, memory_mib=memory_mib, gpus=gpus),
        )
    else:
        nodes = tuple(
            Node(
                host=host,
                n_cores=SIMULATED_CORES,
                memory_mib=SIMULATED_MEMORY_MIB,
                gpus=simulated_gpus(simulated_types[index % len(simulated_types)]),
            )
            for index, host in enumerate(simulated_hosts(n_simulated_nodes))
        )
    return Cluster(nodes=nodes, has_simulated_gpus=not gpus, has_cgroups=has_cgroups())


def parse_memory_mib(meminfo: str) -> int:
    """Return the memory that /proc/meminfo reports.

    Returns:
        MiB, rounded down; 0 if the text does not say.
    """
    found = re.search(r"^MemTotal:\s+(\d+) kB$", meminfo, re.MULTILINE)
    return int(found[1]) // 1024 if found else 0


def has_cgroups(root: Path = CGROUP_DIR, is_writable: Callable[[Path], bool] | None = None) -> bool:
    """Return whether the control groups (version 1) that Slurm needs can be created."""
    # By trying: in a container the folders are there, and often read-only.
    is_writable = is_writable or _can_make_group
    return all(is_writable(root / name) for name in CONTROLLERS)


def _can_make_group(controller: Path) -> bool:
    group = controller / f"dsportal-test-{os.getpid()}"
    # Only version 1 has this file, at the root of a controller.
    if not (controller / "release_agent").exists():
        return False
    with contextlib.suppress(OSError):
        group.mkdir()
        group.rmdir()
        return True
    return False
