"""Runs uv, which installs all Python packages."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from deploy.environments.builder.package_sources import package_sources
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import read_output, run

NAME = "uv"
# With these two jsonschema checks internationalised addresses, which no schema here holds. They
# compile a grammar at each import: 1.2 s for jupyter_server.serverapp with them, 0.4 s without.
# Source: our measurement, jupyter_server 2.21.1, 2 cores.
LEFT_OUT = ("--no-emit-package=rfc3987-syntax", "--no-emit-package=lark")


def canonical_name(name: str) -> str:
    """Return the canonical spelling of a package name, "jupyter-server" for "Jupyter_Server".

    Source:
        https://packaging.python.org/en/latest/specifications/name-normalization/
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def uv_program(plan: Plan) -> Path:
    """Return the program, which need not exist."""
    return plan.environment(NAME) / "bin/uv"


def run_pip(
    plan: Plan,
    command: str,
    env_dir: Path,
    *words: str | Path,
    log: IO[str],
    next_step: str = "",
) -> None:
    """Run a `uv pip` command on an environment.

    `command` is install, compile or uninstall; `next_step` says what to do if it fails.
    """
    with _no_lock_left(env_dir):
        run((*_pip(plan, command, env_dir), *words), log=log, next_step=next_step)


def ask_pip(plan: Plan, command: str, env_dir: Path, *words: str | Path) -> str | None:
    """Return what a read-only `uv pip` command prints, or None if it fails.

    `command` is list, or install with --dry-run among the `words`.
    """
    with _no_lock_left(env_dir):
        return read_output((*_pip(plan, command, env_dir), *words))


def _pip(plan: Plan, command: str, env_dir: Path) -> tuple[str | Path, ...]:
    words = (uv_program(plan), "pip", command, "--python", env_dir / "bin/python")
    fetches = command in {"install", "compile"}
    return (*words, *(package_sources(os.environ).uv_options if fetches else ()))


@contextlib.contextmanager
def _no_lock_left(env_dir: Path) -> Iterator[None]:
    # uv makes it writable for everybody. One build at a time works on a prefix anyway.
    try:
        yield
    finally:
        (env_dir / ".lock").unlink(missing_ok=True)
