"""PyTorch in the flavour that was chosen.

The ordinary index has one build of PyTorch for Linux, with CUDA; it cannot be imported without its
CUDA libraries, 2.6 GB to download and 5 GB on disk. PyTorch's own index, https://download.pytorch.org,
has one without, "+cpu", of 0.2 GB. The flavour cpu takes that where it can be had, else the former,
which trains on the CPU as well.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from deploy.environments.builder.environment import (
    install_environment,
    installed_packages,
    read_pins,
)
from deploy.environments.builder.package_sources import package_sources
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.uv import ask_pip

NAME = "pytorch"
PACKAGE = "torch"


def install_pytorch(plan: Plan, log: IO[str]) -> None:
    """Install the environment of the PyTorch kernel.

    Args:
        plan: Folders and choices.
        log: Open log file.

    Raises:
        StepError: If a package cannot be had.
    """
    install_environment(plan, NAME, log, lock=chosen_lock(plan, log))


def locks(plan: Plan) -> list[Path]:
    """Return the locks that a build chooses from.

    Args:
        plan: Folders and choices.

    Returns:
        That of the flavour, then the one that the ordinary index is enough for.
    """
    return list(dict.fromkeys([plan.pins(NAME), plan.locks_dir / f"{NAME}-gpu.txt"]))


def chosen_lock(plan: Plan, log: IO[str]) -> Path:
    """Return the lock to install.

    Args:
        plan: Folders and choices.
        log: Open log file.

    Returns:
        That of the flavour where its PyTorch is installed or can be had; else that of all.

    Raises:
        StepError: If a lock is missing.
    """
    wanted, *others = locks(plan)
    if not others or not wanted.exists():
        return others[0] if others else wanted
    version = read_pins(wanted)[PACKAGE]
    is_there = installed_packages(plan, plan.environment(NAME)).get(PACKAGE) == version
    if is_there or _is_offered(plan, f"{PACKAGE}=={version}"):
        return wanted
    print(f"{PACKAGE}=={version} is not offered: the one with CUDA is installed", file=log)
    return others[0]


def _is_offered(plan: Plan, requirement: str) -> bool:
    if not package_sources(os.environ).has_more_than_ordinary:
        return False
    options = ("--dry-run", "--no-deps", requirement)
    return ask_pip(plan, "install", plan.environment("uv"), *options) is not None
