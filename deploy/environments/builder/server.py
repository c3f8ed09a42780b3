"""The notebook server's environment and the settings that every user starts with."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import IO

from deploy.environments.builder.environment import install_environment
from deploy.environments.builder.plan import Plan


def settings_dir(plan: Plan) -> Path:
    """Return the folder of settings files, laid out as they go into the environment."""
    return plan.recipes_dir / "server"


def install_server(plan: Plan, log: IO[str]) -> None:
    """Install the notebook server and its settings."""
    install_environment(plan, "server", log)
    shutil.copytree(settings_dir(plan), plan.environment("server"), dirs_exist_ok=True)
