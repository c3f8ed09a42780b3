"""Environments of sessions that this machine has built already, moved to where a site wants them.

Built anew they take minutes of pip and say nothing more about the installation.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from deploy.environments.builder.plan import Plan
from deploy.environments.builder.target import is_current
from deploy.environments.builder.targets import BY_NAME
from deploy.site.installer.command import package_version
from tests.foreign.machine import Machine


def seed_environments(machine: Machine, folder: str, *names: str) -> bool:
    """Copy environments into the folder of the version that will be installed.

    Args:
        machine: The foreign machine.
        folder: Folder of all versions there.
        names: The environments.

    Returns:
        Whether they were there; if not, the installer builds them.
    """
    plan = Plan()
    if not all(is_current(BY_NAME[name], plan) for name in names):
        return False
    prefix = f"{folder}/{package_version()}"
    target = machine.root / prefix.lstrip("/")
    (target / "stamps").mkdir(parents=True)
    for name in names:
        folder = target / "environments" / name
        folder.parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "--archive", plan.environment(name), folder], check=True)
        move_paths(folder, str(plan.prefix), prefix)
        shutil.copyfile(plan.stamps_dir / name, target / "stamps" / name)
    return True


def move_paths(environment: Path, old: str, new: str) -> None:
    """Let the programs and descriptions of a copied environment name their new place."""
    kernels = environment / "share/jupyter/kernels"
    # Those of frameworks that are not installed there.
    for name in ("tensorflow", "pytorch", "ir"):
        shutil.rmtree(kernels / name, ignore_errors=True)
    files = [*(environment / "bin").iterdir(), environment / "pyvenv.cfg", *kernels.rglob("*.json")]
    for path in files:
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if old.encode() in content and b"\0" not in content:
                path.write_bytes(content.replace(old.encode(), new.encode()))
