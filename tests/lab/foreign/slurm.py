"""Slurm's configuration on the foreign cluster; pure texts."""

from __future__ import annotations

from tests.lab.foreign import layout
from tests.lab.foreign.layout import NODES, Node


def slurm_conf() -> str:
    """Return slurm.conf: several partitions, typed GPUs, other ports, users see only their own.

    Source: slurm.conf(5), Slurm 22.05.
    """
    types = sorted({gpu for node in NODES for gpu, _ in node.gpus})
    return "\n".join(
        [
            f"ClusterName={layout.CLUSTER_NAME}",
            f"SlurmctldHost={layout.HEAD}({layout.HEAD_ADDRESS})",
            "SlurmctldPort=16817",
            "SlurmdPort=16818",
            "SlurmUser=slurm",
            f"AuthInfo=socket={layout.MUNGE_SOCKET}",
            "PrivateData=accounts,jobs,usage,users",
            f"StateSaveLocation={layout.STATE_DIR}/slurmctld",
            f"SlurmctldPidFile={layout.STATE_DIR}/slurmctld.pid",
            f"SlurmctldLogFile={layout.LOG_DIR}/slurmctld.log",
            "SlurmdPidFile=/run/slurmd.pid",
            f"SlurmdLogFile={layout.LOG_DIR}/%n.log",
            f"SlurmdSpoolDir={layout.STATE_DIR}/%n",
            "SlurmdParameters=config_overrides",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU_Memory",
            "GresTypes=gpu",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/linux",
            "MpiDefault=none",
            "ReturnToService=2",
            "KillWait=5",
            "SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5",
            "AccountingStorageType=accounting_storage/slurmdbd",
            f"AccountingStorageHost={layout.HEAD_ADDRESS}",
            "AccountingStoragePort=16819",
            f"AccountingStoragePass={layout.MUNGE_SOCKET}",
            f"AccountingStorageTRES=gres/gpu,{','.join(f'gres/gpu:{gpu}' for gpu in types)}",
            "AccountingStorageEnforce=associations,limits",
            *(_node_line(node) for node in NODES),
            "PartitionName=volta Nodes=volta1 Default=YES DefaultTime=60 MaxTime=12:00:00",
            "PartitionName=ampere Nodes=ampere1 DefaultTime=60 MaxTime=2-00:00:00",
            "PartitionName=short Nodes=ALL MaxTime=30",
            "",
        ]
    )


def _node_line(node: Node) -> str:
    gres = ",".join(f"gpu:{gpu}:{count}" for gpu, count in node.gpus)
    return (
        f"NodeName={node.name} NodeAddr={node.address} CPUs={node.n_cores} "
        f"RealMemory={node.n_cores * 8192} Gres={gres}"
    )


def gres_conf() -> str:
    """Return gres.conf; the files stand in for devices.

    Source: gres.conf(5), Slurm 22.05.
    """
    return "".join(
        f"NodeName={node.name} Name=gpu Type={gpu} File={path}\n"
        for node in NODES
        for gpu, path in gpu_files(node)
    )


def gpu_files(node: Node) -> list[tuple[str, str]]:
    """Return type and file of each simulated GPU of a node."""
    types = [gpu for gpu, count in node.gpus for _ in range(count)]
    folder = layout.GPUS_DIR / node.name
    return [(gpu, f"{folder}/gpu{number}") for number, gpu in enumerate(types)]


def cgroup_conf() -> str:
    """Return cgroup.conf, which slurmd 22.05 needs even where it uses no control groups."""
    return "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n"


def slurmdbd_conf() -> str:
    """Return slurmdbd.conf.

    Source: slurmdbd.conf(5), Slurm 22.05.
    """
    return "\n".join(
        [
            f"DbdHost={layout.HEAD}",
            f"DbdAddr={layout.HEAD_ADDRESS}",
            "DbdPort=16819",
            "SlurmUser=slurm",
            "AuthType=auth/munge",
            f"AuthInfo=socket={layout.MUNGE_SOCKET}",
            f"LogFile={layout.LOG_DIR}/slurmdbd.log",
            f"PidFile={layout.STATE_DIR}/slurmdbd.pid",
            "PrivateData=accounts,jobs,usage,users",
            "StorageType=accounting_storage/mysql",
            "StorageHost=localhost",
            "StorageUser=slurm",
            "StorageLoc=institute_jobs",
            "",
        ]
    )
