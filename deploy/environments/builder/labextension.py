"""The compiler, linter and builder of the labextension, as its package-lock.json names them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import IO

from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.node import npm_environment
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import run
from deploy.environments.builder.proxy import NPM_HINT

LOCKED = ("package.json", "package-lock.json")


def sources(plan: Plan) -> Path:
    """Return the folder of the labextension's sources."""
    return plan.source_dir / "portal/server/labextension_src"


def modules(plan: Plan) -> Path:
    """Return the folder to link as node_modules into a copy of the sources."""
    return plan.labextension_dir / "node_modules"


def install_modules(plan: Plan, log: IO[str]) -> None:
    """Install what checks and builds the labextension.

    Raises:
        BuildError: If npm fails.
    """
    staging = plan.labextension_dir.with_name("labextension.new")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    for name in LOCKED:
        shutil.copy(sources(plan) / name, staging)
    # The build runs as root, which scripts of packages must not.
    options = ["--ignore-scripts", "--no-audit", "--no-fund"]
    npm = plan.node_dir / "bin/npm"
    run([npm, "ci", *options], log=log, cwd=staging, env=npm_environment(plan), next_step=NPM_HINT)
    replace_folder(plan.labextension_dir, staging)
