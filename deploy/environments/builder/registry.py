"""A container registry for the kernel tests, apart from the system, where nothing starts it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import IO

from deploy.environments.builder.debian import unpack_package
from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.plan import Plan

PACKAGE = "docker-registry"


def registry_dir(plan: Plan) -> Path:
    """Return where the registry is unpacked.

    Args:
        plan: Folders and choices.

    Returns:
        Its folder.
    """
    return plan.prefix / "registry"


def program(plan: Plan) -> Path:
    """Return the registry's program.

    Args:
        plan: Folders and choices.

    Returns:
        Its path.
    """
    return registry_dir(plan) / "usr/bin/docker-registry"


def unpack_registry(plan: Plan, log: IO[str]) -> None:
    """Unpack the registry's package.

    Args:
        plan: Folders and choices.
        log: Open log file.

    Raises:
        StepError: If the package cannot be had.
    """
    new = registry_dir(plan).with_name("registry.new")
    shutil.rmtree(new, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="registry-") as name:
        unpack_package(PACKAGE, Path(name), new, log)
    replace_folder(registry_dir(plan), new)
