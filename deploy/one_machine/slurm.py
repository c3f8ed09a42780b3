"""Slurm's configuration files for the cluster on this machine, as text; pure."""

from __future__ import annotations

from deploy.one_machine.cluster import Cluster, Node
from deploy.one_machine.gpus import format_gres
from deploy.one_machine.layout import MARK, render
from deploy.one_machine.network import HEAD_ADDRESS, HEAD_NAME
from dsportal.slurm.units import format_walltime
from spawner.settings.tables import ResourceSettings

CLUSTER_NAME = "dsp"
PARTITION = "jupyter"
_RESOURCES = ResourceSettings()


def render_slurm_conf(cluster: Cluster) -> str:
    """Return slurm.conf."""
    types = sorted({gpu.gres_type for node in cluster.nodes for gpu in node.gpus})
    tracking = (
        ("proctrack/cgroup", "task/cgroup", "jobacct_gather/cgroup")
        if cluster.has_cgroups
        else ("proctrack/linuxproc", "task/none", "jobacct_gather/linux")
    )
    memory_mib = cluster.memory_gib_per_gpu * 1024
    return render(
        "slurm.conf",
        CLUSTER_NAME=CLUSTER_NAME,
        HEAD_NAME=HEAD_NAME,
        HEAD_ADDRESS=HEAD_ADDRESS,
        PARTITION=PARTITION,
        PROCTRACK=tracking[0],
        TASK=tracking[1],
        GATHER=tracking[2],
        TRES=",".join(["gres/gpu", *(f"gres/gpu:{name}" for name in types)]),
        DEFAULT_TIME=format_walltime(_RESOURCES.walltime_s),
        MAX_TIME=format_walltime(_RESOURCES.max_walltime_s),
        MIB_PER_CPU=memory_mib // cluster.cores_per_gpu,
        MIB_PER_GPU=memory_mib,
        CORES_PER_GPU=cluster.cores_per_gpu,
        NODES="\n".join(_node_line(node) for node in cluster.nodes),
    )


def _node_line(node: Node) -> str:
    # An even number of cores is shown as two sockets, which is what such servers have.
    n_sockets = 2 if node.n_cores % 2 == 0 else 1
    return (
        f"NodeName={node.host.name} NodeHostname={node.host.name} NodeAddr={node.host.address} "
        f"CPUs={node.n_cores} Boards=1 SocketsPerBoard={n_sockets} "
        f"CoresPerSocket={node.n_cores // n_sockets} ThreadsPerCore=1 "
        f"RealMemory={node.memory_mib} Gres={format_gres(list(node.gpus))} State=UNKNOWN"
    )


def render_gres_conf(cluster: Cluster, *, has_nvml: bool = False) -> str:
    """Return gres.conf: one line for each GPU, or detection by NVML.

    NVML detects them if the GPUs are real and this Slurm was built with it (`has_nvml`).

    Source:
        gres.conf(5), Slurm 22.05.
    """
    if has_nvml and not cluster.has_simulated_gpus:
        return f"# {MARK}\nAutoDetect=nvml\n"
    lines = [
        f"NodeName={node.host.name} Name=gpu Type={gpu.gres_type} File=/dev/nvidia{gpu.minor}"
        for node in cluster.nodes
        for gpu in node.gpus
    ]
    return "\n".join([f"# {MARK}", *lines]) + "\n"


def render_cgroup_conf(cluster: Cluster) -> str:
    """Return cgroup.conf."""
    return render("cgroup.conf", HAS_CGROUPS="yes" if cluster.has_cgroups else "no")


def render_slurmdbd_conf() -> str:
    """Return slurmdbd.conf."""
    return render("slurmdbd.conf", HEAD_NAME=HEAD_NAME, HEAD_ADDRESS=HEAD_ADDRESS)
