"""The compute nodes: each with its own name, address, processes, devices and folders."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

from deploy.common.command import run, wait_until
from deploy.common.errors import CommandError
from deploy.common.files import ensure_folder
from deploy.one_machine import network
from deploy.one_machine.cluster import (
    CGROUP_DIR,
    CONTROLLERS,
    DEFAULT_N_SIMULATED_NODES,
    Cluster,
    Node,
    describe_cluster,
)
from deploy.one_machine.layout import NODES_DIR, log_path
from deploy.one_machine.network import HOSTS_FILE, namespace_path
from deploy.one_machine.resolver import NODES_RESOLV_CONF, RESOLV_CONF
from deploy.one_machine.supervisor import NICE, ensure_started, forget, pid_of

START_TIMEOUT_S = 60
USABLE_STATES = frozenset({"idle", "mixed", "allocated", "completing"})
# In Debian 13 slurmd is a link of alternatives to the second.
SLURMD_NAMES = frozenset({"slurmd", "slurmd-wlm"})
NSLCD_RUN_DIR = Path("/run/nslcd")


def ensure_node(node: Node, *, has_simulated_gpus: bool) -> str:
    """Start a node, or only its slurmd if the node runs.

    The daemon is the node's process 1: killing it is a power failure, which nothing outlives.
    """
    name = node.host.name
    ensure_folder(NODES_DIR / name)
    # The node's own /run hides nslcd's socket, by which users are looked up.
    binds = [(HOSTS_FILE, Path("/etc/hosts")), (NSLCD_RUN_DIR, NSLCD_RUN_DIR)]
    # Mounted on what a link leads to, which may be in /run, where the node has its own. Where this
    # machine has none it would be made in /etc, which the node shares.
    if RESOLV_CONF.exists():
        binds.append((NODES_RESOLV_CONF, RESOLV_CONF.resolve()))
    if ensure_started(
        name,
        "node",
        NICE=-NICE,
        NETWORK_NAMESPACE=namespace_path(node.host),
        GPUS=f"simulated:{len(node.gpus)}" if has_simulated_gpus else "real",
        BINDS=" ".join(f"--bind {source} {target}" for source, target in binds),
    ):
        return f"started, {node.host.address}"
    pid = pid_of(name)
    if pid is not None and not has_slurmd(pid):
        # The node has power but no slurmd: its jobs live on while that is started again.
        namespaces = ("--net", "--uts", "--mount", "--pid")
        run(["nsenter", f"--target={pid}", *namespaces, "slurmd"])
        return "slurmd started again"
    return "runs"


def has_slurmd(init_pid: int) -> bool:
    """Return whether slurmd runs on a node.

    `init_pid` is the node's process 1, as this machine numbers it.
    """
    namespace = os.readlink(f"/proc/{init_pid}/ns/pid")
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (
                (folder / "comm").read_text().strip() in SLURMD_NAMES
                and os.readlink(folder / "ns" / "pid") == namespace
                # One that has ended is in the list until somebody has waited for it.
                and "\nState:\tZ" not in (folder / "status").read_text()
            ):
                return True
    return False


def running_cluster() -> Cluster:
    """Return the cluster that deploy/up has set up last, for removing it."""
    # At least the default, in case the hosts file is lost and its nodes are not.
    return describe_cluster(max(DEFAULT_N_SIMULATED_NODES, len(network.known_names())))


def ensure_network(cluster: Cluster) -> str:
    """Remove surplus nodes, and create the network of the wanted ones."""
    # Without a hosts file there is no network yet, and nothing is surplus.
    surplus = running_cluster().nodes[len(cluster.nodes) :] if network.known_names() else ()
    for part in surplus:
        forget(part.host.name)
        network.remove_host(part.host)
    remove_cgroups(replace(cluster, nodes=surplus))
    outcome = network.ensure_network(cluster.hosts)
    names = ", ".join(part.host.name for part in surplus)
    return f"{names} removed" if surplus else outcome


def ensure_usable(cluster: Cluster) -> str:
    """Wait until every node takes jobs."""
    names = {node.host.name for node in cluster.nodes}
    resume(names - usable_nodes())
    wait_until(
        lambda: names <= usable_nodes(),
        timeout_s=START_TIMEOUT_S,
        what=f"{', '.join(sorted(names))} take jobs ('sinfo -N -l' shows the reason)",
        log=log_path(min(names)),
    )
    n_gpus = sum(len(node.gpus) for node in cluster.nodes)
    kind = "simulated GPUs" if cluster.has_simulated_gpus else "GPUs"
    return f"{len(names)} nodes, {n_gpus} {kind}"


def resume(names: set[str]) -> None:
    """Return nodes to service that Slurm had taken out after a fault."""
    for name in names:
        # A node that only has not answered yet cannot be resumed, and need not be.
        with contextlib.suppress(CommandError):
            run(["scontrol", "update", f"NodeName={name}", "State=RESUME"])


def usable_nodes() -> set[str]:
    """Return the names of the nodes that take jobs now."""
    try:
        return parse_usable(run(["sinfo", "-h", "-N", "-o", "%N|%T"]))
    except CommandError:
        return set()


def parse_usable(sinfo: str) -> set[str]:
    """Return the names of the nodes that take jobs.

    Args:
        sinfo: Lines "node|state" of sinfo; a mark after the state says that the node does not
            answer.
    """
    pairs = (line.split("|", 1) for line in sinfo.splitlines() if "|" in line)
    return {name for name, state in pairs if state in USABLE_STATES}


def remove_cgroups(cluster: Cluster) -> None:
    """Remove the control groups of nodes that have ended.

    Source:
        Debian's Slurm 22.05 names the group of a node slurm_NODE (seen on a running one).
    """
    for controller in CONTROLLERS:
        for name in (node.host.name for node in cluster.nodes):
            top = CGROUP_DIR / controller / f"slurm_{name}"
            groups = [top, *(path for path in top.rglob("*") if path.is_dir())]
            # The deepest first: the kernel removes only groups without groups in them.
            for group in sorted(groups, key=lambda path: len(path.parts), reverse=True):
                with contextlib.suppress(OSError):
                    group.rmdir()
