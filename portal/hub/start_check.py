"""What sessions need of the head node, looked at when a hub of a site's own starts."""

import os
import pwd
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jupyterhub.app import JupyterHub
from traitlets.config.loader import LazyConfigValue

from spawner.client.command import PATH, query, run_command
from spawner.errors import SlurmError
from spawner.spawner import SlurmGPUSpawner
from spawner.sudo_rules import fault_of_program, parse_rules

_TIMEOUT_S = 8.0
# As the launcher looks for them.
_BESIDE_LAUNCHER = "dsportal-storage-checks"
_INSTALL = "As root, run: dsportal install-launcher"


def configured(config: Mapping[str, Any], cls: type, name: str) -> Any:
    """Return the value that a configuration gives to a trait of a class, or the trait's default.

    `config` has values by trait, by class; what is set for a parent class counts, too.
    """
    default: Any = cls.class_traits()[name].default()  # type: ignore[attr-defined]
    for base in cls.__mro__:
        # The `in` comes first: traitlets makes an empty section for a name that is asked for.
        if base.__name__ in config and name in config[base.__name__]:
            value = config[base.__name__][name]
            return value.get_value(default) if isinstance(value, LazyConfigValue) else value
    return default


async def find_lacks(
    launcher: Path, *, uses_sudo: bool, account: str, path: str = PATH
) -> list[str]:
    """Return what keeps sessions from starting: each with what to do about it.

    Args:
        launcher: The program that sudo starts as a user.
        uses_sudo: Whether it is sudo that starts it.
    """
    lacks = list(_faults_of_programs(launcher))
    if uses_sudo:
        lacks += await _faults_of_sudo(launcher, account, path)
    return lacks + await _faults_of_slurm(path)


def _faults_of_programs(launcher: Path) -> Iterator[str]:
    for program in (launcher, launcher.with_name(_BESIDE_LAUNCHER)):
        if fault := fault_of_program(program, f"{_INSTALL} --to {program.parent}"):
            yield " ".join(fault)


async def _faults_of_sudo(launcher: Path, account: str, path: str) -> list[str]:
    if shutil.which("sudo", path=path) is None:
        return [f"There is no sudo in {path}. Install it: with it the hub submits jobs as users."]
    # Root may start anything.
    if account == "root":
        return []
    try:
        # Without any rule sudo asks for a password, or says that there is none.
        done = await run_command(("sudo", "-n", "-l"), timeout_s=_TIMEOUT_S, path=path)
    except SlurmError as error:
        return [f"sudo does not answer: {error.stderr}. Run 'sudo -n -l' as {account}."]
    allowed = {rule.command for rule in parse_rules(done.stdout)}
    if f'{launcher} ""' in allowed:
        return []
    return [
        f"sudo does not let {account} run {launcher} as users."
        f" {_INSTALL} --account {account}; it prints the rule."
    ]


async def _faults_of_slurm(path: str) -> list[str]:
    lacking = [name for name in ("sbatch", "squeue", "sinfo") if not shutil.which(name, path=path)]
    if lacking:
        return [
            f"There is no {' and no '.join(lacking)} in {path}. The hub has to run on a host from"
            " which users submit jobs: install Slurm's commands there."
        ]
    try:
        found = await query(("sinfo", "-h", "-o", "%P"), timeout_s=_TIMEOUT_S, path=path)
    except SlurmError as error:
        return [
            f"Slurm does not answer: {error.stderr.strip() or error}."
            " Run 'scontrol ping' as the hub's account. Sessions start once it answers."
        ]
    return [] if found.stdout.strip() else ["Slurm shows no partition. Run 'sinfo' to see why."]


async def report_lacks(hub: JupyterHub) -> None:
    """Say in the log of a hub, a `JupyterHub`, what is missing."""
    cls = hub.spawner_class
    if issubclass(cls, SlurmGPUSpawner):
        for sentence in await _find_lacks_of(hub.config, cls):
            hub.log.critical("No session can start. %s", sentence)


async def _find_lacks_of(config: Mapping[str, Any], cls: type) -> list[str]:
    launcher_argv = configured(config, cls, "launcher_argv")
    sudo_argv = configured(config, cls, "sudo_argv")
    return await find_lacks(
        Path(launcher_argv[0]),
        uses_sudo=sudo_argv[:1] == ["sudo"],
        account=pwd.getpwuid(os.geteuid()).pw_name,
    )
