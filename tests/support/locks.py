"""Locks that a test writes itself, in the place of what uv exports from uv.lock."""

from pathlib import Path

import pytest

from deploy.environments.builder import uv
from deploy.environments.builder.plan import Plan


def own_locks(plan: Plan, patch: pytest.MonkeyPatch) -> None:
    """Have a plan's environments made of files that the test writes, see `lock_path`."""
    plan.recipes_dir.mkdir(parents=True)
    (plan.recipes_dir / "pyproject.toml").symlink_to(Plan().recipes_dir / "pyproject.toml")
    patch.setattr(uv, "locked", lambda plan, name: lock_path(plan, name).read_text())


def lock_path(plan: Plan, name: str) -> Path:
    """Return the file of the requirements of an environment."""
    return plan.recipes_dir / f"{name}.txt"
