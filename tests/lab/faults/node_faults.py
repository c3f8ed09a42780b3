"""Faults of a node and of the files that it shows: power, network, homes, shared storage."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from deploy.one_machine.layout import ISILON_DIR
from spawner.settings.resources import ResourceSettings
from tests.lab.faults.fault import Fault, let_pass
from tests.lab.faults.stage import Stage, jobs_of, output, run
from tests.support import parts
from tests.support.eventually import eventually
from tests.support.mounts import full_home, hanging_mount, hanging_on_nodes, node_places

# The first holders and starters are there.
NODE = "node01"
HEAD_LINK = f"dsp-{NODE}"
SLURMD_AWAY_S = 15
POWER_AWAY_S = 10
NETWORK_AWAY_S = 60
PORTS_BLOCKED_S = 75
FILES_AWAY_S = 20
# Between the local table (0) and the main one (32766).
RULE_PREFERENCE = "10"
DOWN_TIMEOUT_S = 120
USABLE = {"idle", "mixed", "allocated", "completing"}


@contextmanager
def kill_slurmd(_: Stage) -> Iterator[None]:
    """Kill the slurmd of a node; the jobs live on."""
    parts.on_node(NODE, "pkill", "-KILL", "-x", "slurmd(-wlm)?")
    let_pass(SLURMD_AWAY_S)
    yield
    parts.start(NODE)


@contextmanager
def cut_power(stage: Stage) -> Iterator[None]:
    """Take a node's power away until Slurm has given it up."""
    losers = [member for member in stage.holders if jobs_of(member)[0].node == NODE]
    stage.victims |= {member.name for member in losers}
    parts.kill(NODE)
    let_pass(POWER_AWAY_S)
    # As after SlurmdTimeout. To shorten that, "scontrol reconfigure" would be needed, after which
    # Slurm 22.05 counts GPUs of jobs that have ended as in use.
    run("scontrol", "update", f"NodeName={NODE}", "State=DOWN", "Reason=power")
    eventually(lambda: not any(map(jobs_of, losers)), timeout_s=DOWN_TIMEOUT_S)
    yield
    parts.start(NODE)
    run("scontrol", "update", f"NodeName={NODE}", "State=RESUME")
    eventually(lambda: states_of(NODE) <= USABLE, timeout_s=60)


def states_of(node: str) -> set[str]:
    """Return the states in which sinfo shows a node, one for each partition."""
    return set(output("sinfo", "-h", "-n", node, "-o", "%T").split())


@contextmanager
def cut_network(_: Stage) -> Iterator[None]:
    """Pull a node's cable."""
    run("ip", "link", "set", HEAD_LINK, "down")
    try:
        let_pass(NETWORK_AWAY_S)
        yield
    finally:
        run("ip", "link", "set", HEAD_LINK, "up")


@contextmanager
def block_ports(_: Stage) -> Iterator[None]:
    """Let no connection from the head reach the ports of sessions, as a firewall does."""
    ports = f"{ResourceSettings.port_min}-{ResourceSettings.port_max}"
    rule = ("ipproto", "tcp", "dport", ports, "blackhole", "pref", RULE_PREFERENCE)
    run("ip", "rule", "add", *rule)
    try:
        let_pass(PORTS_BLOCKED_S)
        yield
    finally:
        run("ip", "rule", "delete", *rule)


@contextmanager
def fill_home(stage: Stage) -> Iterator[None]:
    """Leave no room in the home of one who holds, and of one who starts."""
    with full_home(stage.holders[0].name), full_home(stage.starters[0].name):
        let_pass(FILES_AWAY_S)
        yield


@contextmanager
def hang_home(stage: Stage) -> Iterator[None]:
    """Let the home of one who starts hang on the head node."""
    with hanging_mount(Path("/home", stage.starters[0].name)):
        let_pass(FILES_AWAY_S)
        yield


@contextmanager
def hang_running_home(stage: Stage) -> Iterator[None]:
    """Let the home of one who holds a session hang, on the head node and on all others."""
    home = Path("/home", stage.holders[0].name)
    with hanging_mount(home), hanging_on_nodes(home):
        let_pass(FILES_AWAY_S)
        yield


@contextmanager
def hide_home(stage: Stage) -> Iterator[None]:
    """Show an empty folder of root in the place of the home of one who starts."""
    with hidden(Path("/home", stage.starters[0].name)):
        let_pass(FILES_AWAY_S)
        yield


@contextmanager
def hide_storage(_: Stage) -> Iterator[None]:
    """Show an empty folder of root in the place of the shared storage."""
    with hidden(ISILON_DIR):
        let_pass(FILES_AWAY_S)
        yield


@contextmanager
def hidden(folder: Path) -> Iterator[None]:
    """Mount an empty file system over a folder, on the head and the nodes."""
    with ExitStack() as mounted:
        for place in ([], *node_places()):
            mount = [*place, "mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(folder)]
            subprocess.run(mount, check=True, timeout=10)
            unmount = [*place, "umount", "-l", str(folder)]
            mounted.callback(subprocess.run, unmount, check=True, timeout=10)
        yield


FAULTS = (
    Fault(
        name="slurmd-killed",
        what=f"slurmd of a node killed and away for {SLURMD_AWAY_S} s",
        strike=kill_slurmd,
    ),
    Fault(
        name="node-without-power",
        what="a node without power until Slurm has given it up",
        strike=cut_power,
        says=f"{NODE} failed",
    ),
    Fault(
        name="node-without-network",
        what=f"network of a node down for {NETWORK_AWAY_S} s",
        strike=cut_network,
    ),
    Fault(
        name="ports-blocked",
        what=f"ports of sessions blocked for {PORTS_BLOCKED_S} s",
        strike=block_ports,
    ),
    Fault(
        name="home-full",
        what=f"home of a running and of a starting session full for {FILES_AWAY_S} s",
        strike=fill_home,
    ),
    Fault(
        name="home-hangs",
        what=f"home of a starting user hangs on the head node for {FILES_AWAY_S} s",
        strike=hang_home,
    ),
    Fault(
        name="home-hangs-running",
        what=f"home of a running session hangs on all nodes for {FILES_AWAY_S} s",
        strike=hang_running_home,
    ),
    Fault(
        name="home-gone",
        what=f"home of a starting user gone for {FILES_AWAY_S} s",
        strike=hide_home,
    ),
    Fault(
        name="storage-gone",
        what=f"shared storage gone for {FILES_AWAY_S} s",
        strike=hide_storage,
    ),
)
