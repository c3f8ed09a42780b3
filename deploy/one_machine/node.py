"""The compute nodes: each with its own name, address, processes, devices and folders."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from deploy.common.command import run, wait_until
from deploy.common.errors import CommandError
from deploy.common.files import ensure_folder
from deploy.one_machine.cluster import CGROUP_DIR, CONTROLLERS, Cluster, Node
from deploy.one_machine.layout import NODES_DIR, ONE_MACHINE_DIR, log_path
from deploy.one_machine.network import HOSTS_FILE
from deploy.one_machine.pidfile import read_start_ticks, running
from deploy.one_machine.process import Daemon, ensure_started
from deploy.one_machine.resolver import NODES_RESOLV_CONF, RESOLV_CONF

START_TIMEOUT_S = 60
USABLE_STATES = frozenset({"idle", "mixed", "allocated", "completing"})
# In Debian 13 slurmd is a link of alternatives to the second.
SLURMD_NAMES = frozenset({"slurmd", "slurmd-wlm"})
NSLCD_RUN_DIR = Path("/run/nslcd")


def node_daemon(node: Node, *, has_simulated_gpus: bool) -> Daemon:
    """Return the daemon that is a node's process 1.

    Killing it is a power failure: nothing on the node outlives it.
    """
    gpus = f"simulated:{len(node.gpus)}" if has_simulated_gpus else "real"
    return Daemon(
        name=node.host.name,
        argv=(
            "nsenter",
            # Not 'ip netns exec', which would mount another /sys.
            f"--net=/run/netns/{node.host.namespace}",
            *("unshare", "--uts", "--mount", "--propagation", "slave"),
            *("--pid", "--fork", "--kill-child"),
            *("/usr/bin/python3", "-I", f"{ONE_MACHINE_DIR}/namespace.py"),
            *("--hostname", node.host.name, "--node", gpus),
            *("--bind", str(HOSTS_FILE), "/etc/hosts"),
            *_own_resolv_conf(),
            # The node's own /run hides nslcd's socket, by which users are looked up.
            *("--bind", str(NSLCD_RUN_DIR), str(NSLCD_RUN_DIR)),
            *("--", "slurmd", "-D"),
        ),
        is_parent=True,
        writes_log=True,
        stop_signal=signal.SIGKILL,
    )


def _own_resolv_conf() -> tuple[str, ...]:
    # Mounted on what a link leads to, which may be in /run, where the node has its own. Where this
    # machine has none it would be made in /etc, which the node shares.
    if not RESOLV_CONF.exists():
        return ()
    return ("--bind", str(NODES_RESOLV_CONF), str(RESOLV_CONF.resolve()))


def ensure_node(node: Node, *, has_simulated_gpus: bool) -> str:
    """Start a node, or only its slurmd if the node runs."""
    ensure_folder(NODES_DIR / node.host.name)
    if ensure_started(node_daemon(node, has_simulated_gpus=has_simulated_gpus)):
        return f"started, {node.host.address}"
    record = running(node.host.name)
    if record is not None and not has_slurmd(record.pid):
        # The node has power but no slurmd: its jobs live on while that is started again.
        namespaces = ("--net", "--uts", "--mount", "--pid")
        run(["nsenter", f"--target={record.pid}", *namespaces, "slurmd"])
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
                and read_start_ticks(int(folder.name)) is not None
            ):
                return True
    return False


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
