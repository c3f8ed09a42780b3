"""Slurm on the head node: its configuration files, slurmdbd and slurmctld."""

from pathlib import Path

from deploy.common.command import run, succeeds
from deploy.common.errors import CommandError, DeployError
from deploy.common.files import ensure_file, ensure_folder
from deploy.one_machine.cluster import Cluster, Node
from deploy.one_machine.gpus import format_gres
from deploy.one_machine.layout import (
    MARK,
    NAMESPACE,
    RUN_DIR,
    SLURM_DIR,
    SLURM_STATE_DIR,
    render,
)
from deploy.one_machine.network import HEAD_ADDRESS, HEAD_NAME, HOSTS_FILE
from deploy.one_machine.supervisor import ensure_running, pid_of
from dsportal.slurm.units import format_walltime
from spawner.settings.resources import ResourceSettings

CLUSTER_NAME = "dsp"
PARTITION = "jupyter"
_RESOURCES = ResourceSettings()
SLURMDBD_CONF = SLURM_DIR / "slurmdbd.conf"
CONFIGURATION = ("slurm.conf", "gres.conf", "cgroup.conf", "slurmdbd.conf")
NVML_PLUGIN = "gpu_nvml.so"
# The first start makes the tables: 10-13 s measured on 2 cores.
START_TIMEOUT_S = 90

# slurmctld runs only if the host's name is that of SlurmctldHost. A namespace of its own has
# that name; the machine keeps its. What is mounted on the machine later shows up inside, and
# nothing the other way round.
IN_HEAD = (
    f"unshare --uts --mount --propagation slave /usr/bin/python3 -I {NAMESPACE} "
    f"--hostname {HEAD_NAME} --bind {HOSTS_FILE} /etc/hosts --"
)


def ensure_configuration(cluster: Cluster) -> str:
    """Write Slurm's configuration files if they differ."""
    ensure_folder(SLURM_DIR)
    ensure_folder(SLURM_STATE_DIR, mode=0o700, user="slurm")
    ensure_folder(RUN_DIR / "slurm", user="slurm")
    for name in CONFIGURATION:
        refuse_foreign(SLURM_DIR / name, "another Slurm cluster")
    # Read by slurmdbd when it starts, in a later step.
    ensure_file(SLURMDBD_CONF, render_slurmdbd_conf(), mode=0o600, user="slurm")
    texts = {
        "slurm.conf": render_slurm_conf(cluster),
        "gres.conf": render_gres_conf(cluster, has_nvml=has_nvml()),
        "cgroup.conf": render_cgroup_conf(cluster),
    }
    changed = [name for name, text in texts.items() if ensure_file(SLURM_DIR / name, text)]
    return f"written to {SLURM_DIR}" if changed else "unchanged"


def has_nvml() -> bool:
    """Return whether the installed Slurm was built with NVIDIA's library (NVML)."""
    return any(Path("/usr/lib").glob(f"*/slurm*/{NVML_PLUGIN}"))


def refuse_foreign(path: Path, what: str) -> None:
    """Refuse to replace a file that deploy/up did not write.

    `what` is what the file configures, such as "a Slurm cluster".
    """
    if path.is_file() and MARK not in path.read_text(errors="replace"):
        raise DeployError(
            f"{path} is there already: this machine belongs to {what}. "
            "deploy/up makes a small cluster of its own and leaves others alone.",
            next_step="Use another machine, or move the file away if nothing needs it.",
        )


def ensure_slurmdbd() -> str:
    """Start slurmdbd and wait until it answers."""
    return ensure_running(
        "slurmdbd",
        is_slurmdbd_answering,
        timeout_s=START_TIMEOUT_S,
        read_at_start=[SLURMDBD_CONF],
        IN_HEAD=IN_HEAD,
    )


def is_slurmdbd_answering() -> bool:
    """Return whether sacctmgr gets an answer from slurmdbd."""
    return succeeds(["sacctmgr", "-nP", "list", "cluster", "format=cluster"])


def ensure_slurmctld(cluster: Cluster) -> str:
    """Start slurmctld; nodes that already run then read the configuration again."""
    outcome = ensure_running(
        "slurmctld",
        is_slurmctld_answering,
        timeout_s=START_TIMEOUT_S,
        read_at_start=[SLURM_DIR / name for name in CONFIGURATION if name != SLURMDBD_CONF.name],
        IN_HEAD=IN_HEAD,
    )
    if outcome == "started" and any(pid_of(host.name) for host in cluster.hosts):
        run(["scontrol", "reconfigure"])
    return outcome


def is_slurmctld_answering() -> bool:
    """Return whether scontrol(1) says that the controller is up."""
    try:
        return " is UP" in run(["scontrol", "ping"])
    except CommandError:
        return False


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
