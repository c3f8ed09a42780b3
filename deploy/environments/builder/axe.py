"""axe-core, the accessibility checker that the browser tests run in each page."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.npm import install_locked
from deploy.environments.builder.plan import Plan


def script(plan: Plan) -> Path:
    """Return the script that the tests inject into a page."""
    return plan.axe_dir / "node_modules" / "axe-core" / "axe.min.js"


def install_axe(plan: Plan, log: IO[str]) -> None:
    """Install axe-core."""
    staging = plan.axe_dir.with_name("axe.new")
    install_locked(plan, plan.recipes_dir / "axe", staging, log)
    replace_folder(plan.axe_dir, staging)
