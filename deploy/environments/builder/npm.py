"""Packages of npm, exactly as a package-lock.json names them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from deploy.environments.builder.node import npm_environment
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import run

LOCKED = ("package.json", "package-lock.json")
NPM_HINT = "See whether 'npm view npm version' works on this machine, then run the build again."
# The build runs as root, which scripts of packages must not.
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund")


def install_locked(
    plan: Plan, recipe_dir: Path, folder: Path, log: IO[str], *, options: Sequence[str] = ()
) -> None:
    """Install the packages of a lock file into `folder`/node_modules.

    Args:
        plan: Where node is.
        recipe_dir: Folder that has package.json and package-lock.json.
        folder: Made with its parents; whatever it held before is deleted.
        log: Gets what npm prints.
        options: Further options of `npm ci`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in LOCKED:
        shutil.copy(recipe_dir / name, folder)
    argv: list[str | Path] = [plan.node_dir / "bin/npm", "ci", *options, *_OPTIONS]
    run(argv, log=log, cwd=folder, env=npm_environment(plan), next_step=NPM_HINT)
