"""Slurm's configuration files for the cluster on this machine, as text; pure."""

from __future__ import annotations

from deploy.one_machine.cluster import Cluster, Node
from deploy.one_machine.gpus import format_gres
from deploy.one_machine.layout import (
    LOG_DIR,
    MARK,
    MUNGE_SOCKET,
    NODES_DIR,
    RUN_DIR,
    SLURM_STATE_DIR,
)
from deploy.one_machine.network import HEAD_ADDRESS, HEAD_NAME
from dsportal.slurm.units import format_walltime
from spawner.settings.tables import ResourceSettings

CLUSTER_NAME = "dsp"
PARTITION = "jupyter"
_RESOURCES = ResourceSettings()
# A session that was stopped is gone within 5 s, whatever its programs do about SIGTERM.
KILL_WAIT_S = 3


def render_slurm_conf(cluster: Cluster) -> str:
    """Return slurm.conf.

    Source:
        slurm.conf(5), Slurm 22.05.
    """
    types = sorted({gpu.gres_type for node in cluster.nodes for gpu in node.gpus})
    tres = ",".join(["gres/gpu", *(f"gres/gpu:{name}" for name in types)])
    tracking = (
        ("proctrack/cgroup", "task/cgroup", "jobacct_gather/cgroup")
        if cluster.has_cgroups
        else ("proctrack/linuxproc", "task/none", "jobacct_gather/linux")
    )
    lines = [
        f"# {MARK}",
        f"ClusterName={CLUSTER_NAME}",
        f"SlurmctldHost={HEAD_NAME}({HEAD_ADDRESS})",
        "SlurmUser=slurm",
        # Listens on the head's address alone, not on all of the machine's.
        "CommunicationParameters=NoCtldInAddrAny",
        "AuthType=auth/munge",
        f"AuthInfo=socket={MUNGE_SOCKET}",
        f"StateSaveLocation={SLURM_STATE_DIR}",
        f"SlurmctldPidFile={RUN_DIR}/slurm/slurmctld.pid",
        f"SlurmctldLogFile={LOG_DIR}/slurmctld.log",
        # Each node has a /run of its own.
        "SlurmdPidFile=/run/slurmd.pid",
        f"SlurmdLogFile={LOG_DIR}/%n.log",
        f"SlurmdSpoolDir={NODES_DIR}/%n",
        # A simulated node has more cores and memory than slurmd finds.
        "SlurmdParameters=config_overrides",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "GresTypes=gpu",
        f"ProctrackType={tracking[0]}",
        f"TaskPlugin={tracking[1]}",
        f"JobAcctGatherType={tracking[2]}",
        "MpiDefault=none",
        # A node that was down, for whatever reason, serves again once it registers.
        "ReturnToService=2",
        "SlurmctldTimeout=30",
        # Slurm's own default: sessions outlive a minute without network.
        "SlurmdTimeout=300",
        "InactiveLimit=0",
        f"KillWait={KILL_WAIT_S}",
        # A notebook server that is started again elsewhere would run twice.
        "JobRequeue=0",
        # Seconds; Slurm's own 10 let its programs hang longer while the controller is down.
        "MessageTimeout=5",
        # Seconds for which 'squeue -t all' still lists a job that has ended.
        "MinJobAge=300",
        "SchedulerType=sched/backfill",
        # With Slurm's own batch_sched_delay a job's first line came after 1.0 s (median, at most
        # 2.6 s), without one within 1 s. Source: our measurement, Slurm 22.05.
        "SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5",
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={HEAD_ADDRESS}",
        # No password: where the socket is, if it is not munge's usual one.
        f"AccountingStoragePass={MUNGE_SOCKET}",
        f"AccountingStorageTRES={tres}",
        "AccountingStorageEnforce=associations,limits,qos",
        f"PartitionName={PARTITION} Nodes=ALL Default=YES State=UP "
        f"DefaultTime={format_walltime(_RESOURCES.walltime_s)} "
        f"MaxTime={format_walltime(_RESOURCES.max_walltime_s)} "
        # For a job that asks for neither memory nor GPUs; Slurm's own default is the whole node.
        f"DefMemPerCPU={cluster.memory_gib_per_gpu * 1024 // cluster.cores_per_gpu} "
        f"DefMemPerGPU={cluster.memory_gib_per_gpu * 1024} "
        f"DefCpuPerGPU={cluster.cores_per_gpu}",
        *(_node_line(node) for node in cluster.nodes),
    ]
    return "\n".join(lines) + "\n"


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
    """Return cgroup.conf.

    It names the version even if control groups are not used: slurmd 22.05 ends if it cannot find it
    out by itself.

    Source:
        cgroup.conf(5), Slurm 22.05.
    """
    lines = [f"# {MARK}", "CgroupPlugin=cgroup/v1", "CgroupMountpoint=/sys/fs/cgroup"]
    if cluster.has_cgroups:
        lines += [
            # This would need the controller cpuset; simulated cores could not be assigned anyway.
            "ConstrainCores=no",
            "ConstrainRAMSpace=yes",
            "ConstrainSwapSpace=no",
            # A job sees only its own GPUs, numbered from 0.
            "ConstrainDevices=yes",
        ]
    return "\n".join(lines) + "\n"


def render_slurmdbd_conf() -> str:
    """Return slurmdbd.conf.

    It needs no password: MariaDB authenticates Slurm's account over the socket.

    Source:
        slurmdbd.conf(5), Slurm 22.05.
    """
    lines = [
        f"# {MARK}",
        f"DbdHost={HEAD_NAME}",
        f"DbdAddr={HEAD_ADDRESS}",
        # Sessions ask it from their nodes; nobody else has to reach it.
        "CommunicationParameters=NoInAddrAny",
        "SlurmUser=slurm",
        "AuthType=auth/munge",
        f"AuthInfo=socket={MUNGE_SOCKET}",
        f"LogFile={LOG_DIR}/slurmdbd.log",
        f"PidFile={RUN_DIR}/slurm/slurmdbd.pid",
        "StorageType=accounting_storage/mysql",
        # By this name MariaDB's library takes the socket, not TCP.
        "StorageHost=localhost",
        "StorageUser=slurm",
        "StorageLoc=slurm_accounting",
    ]
    return "\n".join(lines) + "\n"
