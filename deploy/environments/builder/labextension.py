"""The compiler, linter and builder of the labextension, as its package-lock.json names them."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.npm import install_locked
from deploy.environments.builder.plan import Plan


def sources(plan: Plan) -> Path:
    """Return the folder of the labextension's sources."""
    return plan.source_dir / "portal/server/labextension_src"


def modules(plan: Plan) -> Path:
    """Return the folder to link as node_modules into a copy of the sources."""
    return plan.labextension_dir / "node_modules"


def install_modules(plan: Plan, log: IO[str]) -> None:
    """Install what checks and builds the labextension."""
    staging = plan.labextension_dir.with_name("labextension.new")
    install_locked(plan, sources(plan), staging, log)
    replace_folder(plan.labextension_dir, staging)
