"""Slurm's daemons on the head node, slurmdbd and slurmctld, and all configuration files."""

from __future__ import annotations

import re
from pathlib import Path

from deploy.common.command import run, succeeds
from deploy.common.errors import CommandError, DeployError
from deploy.common.files import ensure_file, ensure_folder, read_plain
from deploy.one_machine.cluster import Cluster
from deploy.one_machine.layout import (
    MARK,
    NAMESPACE,
    RUN_DIR,
    SLURM_DIR,
    SLURM_STATE_DIR,
)
from deploy.one_machine.network import HEAD_NAME, HOSTS_FILE
from deploy.one_machine.slurm import (
    render_cgroup_conf,
    render_gres_conf,
    render_slurm_conf,
    render_slurmdbd_conf,
)
from deploy.one_machine.supervisor import ensure_started, pid_of, stop, wait_ready

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
    """Write Slurm's configuration files if they differ; make running daemons read them again."""
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
    names_before = node_names(read_plain(SLURM_DIR / "slurm.conf") or "")
    changed = [name for name, text in texts.items() if ensure_file(SLURM_DIR / name, text)]
    if not changed:
        return "unchanged"
    if names_before != node_names(texts["slurm.conf"]):
        # Source: scontrol(1), reconfigure, Slurm 22.05: not for nodes that come or go.
        stop("slurmctld")
    if pid_of("slurmctld") is None:
        return f"written to {SLURM_DIR}"
    run(["scontrol", "reconfigure"])
    return f"{', '.join(changed)} changed and read again"


def node_names(slurm_conf: str) -> list[str]:
    """Return the nodes that a slurm.conf names, in its order."""
    return re.findall(r"^NodeName=(\S+)", slurm_conf, re.MULTILINE)


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
    started = ensure_started("slurmdbd", read_at_start=[SLURMDBD_CONF], IN_HEAD=IN_HEAD)
    wait_ready("slurmdbd", is_slurmdbd_answering, timeout_s=START_TIMEOUT_S)
    return "started" if started else "runs"


def is_slurmdbd_answering() -> bool:
    """Return whether sacctmgr gets an answer from slurmdbd."""
    return succeeds(["sacctmgr", "-nP", "list", "cluster", "format=cluster"])


def ensure_slurmctld(cluster: Cluster) -> str:
    """Start slurmctld; nodes that already run then read the configuration again."""
    started = ensure_started("slurmctld", IN_HEAD=IN_HEAD)
    wait_ready("slurmctld", is_slurmctld_answering, timeout_s=START_TIMEOUT_S)
    if started and any(pid_of(host.name) for host in cluster.hosts):
        run(["scontrol", "reconfigure"])
    return "started" if started else "runs"


def is_slurmctld_answering() -> bool:
    """Return whether scontrol(1) says that the controller is up."""
    try:
        return " is UP" in run(["scontrol", "ping"])
    except CommandError:
        return False
