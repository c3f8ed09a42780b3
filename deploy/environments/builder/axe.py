"""axe-core, the accessibility checker that the browser tests run in each page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import IO

from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.node import npm_environment
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import run
from deploy.environments.builder.proxy import NPM_HINT


def script(plan: Plan) -> Path:
    """Return the script that the tests inject into a page."""
    return plan.axe_dir / "node_modules" / "axe-core" / "axe.min.js"


def install_axe(plan: Plan, log: IO[str]) -> None:
    """Install axe-core.

    Raises:
        BuildError: If npm fails.
    """
    staging = plan.axe_dir.with_name("axe.new")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(plan.recipes_dir / "axe" / name, staging)
    # The build runs as root, which scripts of packages must not.
    options = ["--ignore-scripts", "--no-audit", "--no-fund"]
    npm = plan.node_dir / "bin/npm"
    run([npm, "ci", *options], log=log, cwd=staging, env=npm_environment(plan), next_step=NPM_HINT)
    replace_folder(plan.axe_dir, staging)
