"""Stops what was started, and removes what was installed, except packages."""

import contextlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from deploy.common.command import run, wait_until
from deploy.common.errors import DeployError
from deploy.one_machine import (
    accounts,
    extras,
    gateway,
    name_service,
    network,
    node,
    packages,
    portal,
    slurm,
    storage,
    users,
)
from deploy.one_machine.cluster import Cluster
from deploy.one_machine.layout import (
    LOG_DIR,
    MARK,
    PREFIX_DIR,
    RUN_DIR,
    SETTINGS_DIR,
    SLURM_DIR,
    STATE_DIR,
)
from deploy.one_machine.machine import daemons
from deploy.one_machine.steps import Step
from deploy.one_machine.supervisor import pid_of, shut_down, stop

JOBS_END_TIMEOUT_S = 20


def steps_down(cluster: Cluster) -> list[Step]:
    """Return all steps of deploy/down without --purge, in order."""
    return [
        Step(name="jobs", title="Jobs", do=cancel_jobs),
        *(_stop_step(name) for name in daemons(cluster)),
        Step(name="supervisor", title="Stop supervisor", do=_removing(shut_down)),
        Step(
            name="network",
            title="Network of the nodes",
            do=_removing(lambda: remove_network(cluster)),
        ),
    ]


def steps_purge(cluster: Cluster, *, keeps_environments: bool) -> list[Step]:
    """Return the steps of deploy/down --purge that follow once everything is stopped.

    With `keeps_environments` the environments and data sets stay.
    """
    folders = [SETTINGS_DIR, STATE_DIR, LOG_DIR]
    steps = [
        ("name-service", "Name service", name_service.restore_name_service),
        ("nslcd-folder", "Folder of the name service", name_service.remove_run_folder),
        ("extras", "Modules and the link to Apptainer", extras.remove_extras),
        ("packages", "Rule against starting daemons", packages.remove_policy),
        ("sudoers", "Rule of sudo", lambda: accounts.SUDOERS.unlink(missing_ok=True)),
        ("command", "Command dsportal", portal.remove_command),
        ("homes", "Home folders of the demo users", users.remove_homes),
        ("slurm", "Slurm's configuration", remove_slurm_configuration),
        ("cgroups", "Control groups", lambda: node.remove_cgroups(cluster)),
    ]
    if not keeps_environments:
        steps.append(("storage", "Shared storage", storage.remove_storage))
        folders.insert(0, PREFIX_DIR)
    steps.append(("folders", "Settings, state and logs", lambda: remove_folders(folders)))
    # Last, because the account cannot go while a process runs as it.
    steps.append(("account", "Account of hub and proxy", accounts.remove_account))
    return [Step(name=name, title=title, do=_removing(do)) for name, title, do in steps]


def remove_network(cluster: Cluster) -> None:
    """Remove the nodes' way to the internet, and their network."""
    gateway.close(cluster.hosts)
    network.remove_network(cluster.hosts)


def cancel_jobs() -> str:
    """Cancel every job, so that accounting shows them cancelled and not failed."""
    if pid_of("slurmctld") is None:
        return "Slurm does not run"
    try:
        jobs = run(["squeue", "-h", "-o", "%A"]).split()
        if not jobs:
            return "none"
        run(["scancel", *jobs])
        wait_until(
            lambda: not run(["squeue", "-h", "-o", "%A"]).split(),
            timeout_s=JOBS_END_TIMEOUT_S,
            what="all jobs end",
        )
    except DeployError as error:
        # No failure: the nodes are stopped next, and everything on them ends.
        return f"left to end with their nodes: {error.message.splitlines()[0]}"
    return f"{len(jobs)} cancelled"


def remove_slurm_configuration() -> None:
    """Remove the configuration files that deploy/up wrote."""
    for name in slurm.CONFIGURATION:
        path = SLURM_DIR / name
        if path.is_file() and MARK in path.read_text(errors="replace"):
            path.unlink()


def remove_folders(folders: Sequence[Path]) -> None:
    """Remove folders if they exist, and everything in the run folder but its lock."""
    for folder in folders:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)
    for path in RUN_DIR.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        # This run holds the lock.
        elif path.name != "lock":
            path.unlink()


def _stop_step(name: str) -> Step:
    def do() -> str:
        return "stopped" if stop(name) else "did not run"

    return Step(name=name, title=f"Stop {name}", do=do)


def _removing(do: Callable[[], None]) -> Callable[[], str]:
    def remove() -> str:
        do()
        return "removed"

    return remove
