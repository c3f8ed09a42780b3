"""Runs uv, which chooses and installs all Python packages."""

import contextlib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from deploy.environments.builder.package_sources import package_sources
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import read_output, run

NAME = "uv"
# Name and version.
PIN = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?={2,3}([^\s;]+)", re.MULTILINE)


def canonical_name(name: str) -> str:
    """Return the canonical spelling of a package name, "jupyter-server" for "Jupyter_Server".

    Source:
        https://packaging.python.org/en/latest/specifications/name-normalization/
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def uv_program(plan: Plan) -> Path:
    """Return the program, which need not exist."""
    return plan.environment(NAME) / "bin/uv"


def locked(plan: Plan, name: str) -> str:
    """Return the requirements that uv.lock has for an environment, each with its hashes.

    Returns:
        Lines for every Python; empty if there is no uv yet, or the lock is not for this Python.
    """
    command = (uv_program(plan), "export", "--frozen", "--quiet", "--no-header", "--no-annotate")
    of = ("--directory", plan.project(name), "--only-group", plan.group(name))
    return read_output((*command, *of, "--python", plan.python)) or ""


def uv_requirement(plan: Plan) -> str:
    """Return the line of requirements that installs uv itself, which is not there to tell it."""
    packages = read_toml(plan.recipes_dir / "uv.lock")["package"]
    (own,) = (package for package in packages if package["name"] == NAME)
    return " ".join(
        [f"{NAME}=={own['version']}", *(f"--hash={wheel['hash']}" for wheel in own["wheels"])]
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a lock, or of a pyproject.toml."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def read_pins(requirements: str) -> dict[str, str]:
    """Return the version of each package, by canonical name, of lines name==version.

    Of a package that has several versions, each for some Pythons, the last.
    """
    return {canonical_name(name): version for name, version in PIN.findall(requirements)}


def without(requirements: str, names: Iterable[str]) -> str:
    """Return requirements without some packages, given by their canonical names."""
    left_out = set(names)
    # Each package begins a line; its hashes follow on further ones.
    blocks = re.split(r"^(?=\S)", requirements, flags=re.MULTILINE)
    return "".join(block for block in blocks if not left_out & read_pins(block).keys())


def run_pip(
    plan: Plan,
    command: str,
    env_dir: Path,
    *words: str | Path,
    log: IO[str],
    next_step: str = "",
) -> None:
    """Run a `uv pip` command on an environment.

    `command` is check, install, compile or uninstall; `next_step` says what to do if it fails.
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
