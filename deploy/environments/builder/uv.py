"""Commands of uv, which installs all Python packages."""

from __future__ import annotations

import os
from pathlib import Path

from deploy.environments.builder.package_sources import package_sources
from deploy.environments.builder.plan import Plan

NAME = "uv"
# With these two jsonschema checks internationalised addresses, which no schema here holds. They
# compile a grammar at each import: 1.2 s for jupyter_server.serverapp with them, 0.4 s without.
# Source: our measurement, jupyter_server 2.21.1, 2 cores.
LEFT_OUT = ("--no-emit-package=rfc3987-syntax", "--no-emit-package=lark")


def uv_program(plan: Plan) -> Path:
    """Return the program.

    Args:
        plan: Folders and choices.

    Returns:
        Its path, whether it exists or not.
    """
    return plan.environment(NAME) / "bin/uv"


def uv_pip(plan: Plan, command: str, env_dir: Path) -> tuple[str | Path, ...]:
    """Return the beginning of a command that works on an environment.

    Args:
        plan: Folders and choices.
        command: install, compile, uninstall or list.
        env_dir: The environment.

    Returns:
        Words of the command; where it fetches packages, with their sources.

    Raises:
        StepError: If DSPORTAL_PACKAGES cannot be understood.
    """
    words = (uv_program(plan), "pip", command, "--python", env_dir / "bin/python")
    fetches = command in {"install", "compile"}
    return (*words, *(package_sources(os.environ).uv_options if fetches else ()))
