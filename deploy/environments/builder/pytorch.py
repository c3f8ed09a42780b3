"""PyTorch in the chosen flavour.

The ordinary index has one build of PyTorch for Linux, with CUDA; it cannot be imported without its
CUDA libraries, 2.6 GB to download and 5 GB on disk. PyTorch's own index,
https://download.pytorch.org, has one without, "+cpu", of 0.2 GB. Flavour cpu takes that if it can
be had, else the one with CUDA, which trains on the CPU as well.
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
from deploy.environments.builder.torchvision import declare_operators
from deploy.environments.builder.uv import ask_pip

NAME = "pytorch"
PACKAGE = "torch"


def install_pytorch(plan: Plan, log: IO[str]) -> None:
    """Install the environment of the PyTorch kernel."""
    lock = chosen_lock(plan, log)
    install_environment(plan, NAME, log, lock=lock)
    if has_no_cuda(lock):
        declare_operators(plan.environment(NAME), log)


def has_no_cuda(lock: Path) -> bool:
    """Return whether the PyTorch of a lock is the build without CUDA."""
    return read_pins(lock)[PACKAGE].endswith("+cpu")


def locks(plan: Plan) -> list[Path]:
    """Return the locks to choose from.

    Returns:
        The flavour's lock, then the one that the ordinary index is enough for.
    """
    # In the flavour gpu both are the same.
    return list(dict.fromkeys([plan.pins(NAME), plan.locks_dir / f"{NAME}-gpu.txt"]))


def chosen_lock(plan: Plan, log: IO[str]) -> Path:
    """Return the lock to install.

    Returns:
        The flavour's lock if its PyTorch is installed or available; else the one with CUDA.
    """
    wanted, *others = locks(plan)
    if not others or not wanted.exists():
        return others[0] if others else wanted
    version = read_pins(wanted)[PACKAGE]
    # An installed build stays even if no index offers it any more.
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
