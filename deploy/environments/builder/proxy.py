"""configurable-http-proxy, installed so that an unprivileged account can start it."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from deploy.environments.builder.errors import BuildError
from deploy.environments.builder.files import replace_folder, write_program
from deploy.environments.builder.node import AS_NOBODY
from deploy.environments.builder.npm import install_locked
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import read_output

NAME = "configurable-http-proxy"


def program(plan: Plan) -> Path:
    """Return the program that starts the proxy."""
    return plan.proxy_dir / "bin" / NAME


def install_proxy(plan: Plan, log: IO[str]) -> None:
    """Install the proxy and check that every account can start it."""
    staging = plan.proxy_dir.with_name("proxy.new")
    install_locked(plan, plan.recipes_dir / "proxy", staging, log, options=["--omit=dev"])
    (staging / "bin").mkdir()
    entry = plan.proxy_dir / "node_modules" / NAME / "bin" / NAME
    node = plan.node_dir / "bin/node"
    write_program(staging / "bin" / NAME, f'#!/bin/sh\nexec "{node}" "{entry}" "$@"\n')
    replace_folder(plan.proxy_dir, staging)
    version = read_output([*AS_NOBODY, program(plan), "--version"])
    if version is None:
        raise BuildError(
            f"{program(plan)} cannot be started by an account without rights.",
            f"Let everybody read and enter {plan.prefix} and the folders above it.",
        )
    print(f"{NAME} {version}", file=log)
