"""Bring up the campaign's cluster: bring_up.py N_RUNNING N_WAITING N_USERS.

Run it as root of a machine of its own.
It is what deploy/up makes, with more users, and a second partition whose jobs can be made to wait.
The hub's state is on a small disk of its own, which can be filled.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "portal/dsportal"))

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from deploy.one_machine import users

FIRST_USER_ID = 20_101
RUNNING, WAITING = "jupyter", "waiting"
STATE_DISK_MIB = 64


def main(n_running: int, n_waiting: int, n_users: int) -> int:
    """Bring it up."""
    added = (
        users.User(name=user_name(number), user_id=FIRST_USER_ID + number)
        for number in range(n_users)
    )
    # Before any other module takes its copy of the name.
    users.DEMO_USERS = (*users.DEMO_USERS, *added)

    from deploy.one_machine.cli import up
    from deploy.one_machine.layout import HUB_STATE_DIR, PORTAL_TOML, SLURM_DIR

    run("mount", "--mkdir", *tmpfs(STATE_DISK_MIB), str(HUB_STATE_DIR))
    status = up(["--simulated-nodes", str(n_running + n_waiting)])
    if status != 0:
        return status
    conf = SLURM_DIR / "slurm.conf"
    conf.write_text(with_second_partition(conf.read_text(), n_running, n_waiting))
    run("scontrol", "reconfigure")
    with PORTAL_TOML.open("a") as file:
        file.write(f"\n[partitions.{WAITING}]\n")
    # Both read the settings when they start.
    return up(["--only", "proxy", "--only", "hub"])


def user_name(number: int) -> str:
    """Return the name of one of the campaign's users, counted from 0."""
    return f"user{number + 1:02}"


def tmpfs(size_mib: int) -> tuple[str, ...]:
    """Return mount's arguments for a file system in memory that only root may enter at first."""
    return ("-t", "tmpfs", "-o", f"size={size_mib}m,mode=700", "tmpfs")


def with_second_partition(conf: str, n_running: int, n_waiting: int) -> str:
    """Give the last nodes to a partition of their own.

    Args:
        n_running: Nodes of the first partition, at least 1.
        n_waiting: Nodes of the second one, at least 1.
    """
    (line,) = (li for li in conf.splitlines() if li.startswith(f"PartitionName={RUNNING} "))
    first = line.replace("Nodes=ALL", f"Nodes=node[01-{n_running:02}]")
    second = line.replace(f"PartitionName={RUNNING}", f"PartitionName={WAITING}")
    last = f"node[{n_running + 1:02}-{n_running + n_waiting:02}]"
    second = second.replace("Nodes=ALL Default=YES", f"Nodes={last}")
    return conf.replace(line, f"{first}\n{second}")


def run(*argv: str) -> None:
    """Run a program of the system."""
    subprocess.run(argv, check=True, timeout=60)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
