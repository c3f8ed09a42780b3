"""Virtual environments that hold exactly what their pinned files name."""

from __future__ import annotations

import functools
import json
import re
import shutil
from pathlib import Path
from typing import IO

from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.errors import StepError
from deploy.environments.builder.plan import PYTHON, Plan
from deploy.environments.builder.process import output_of, run

# Installed by targets of their own, not named in the pinned files.
ADDED_LATER = frozenset({"data-scientist-portal", "horovod"})
REGISTRY_HINT = "See whether 'pip download six' works on this machine, then run the build again."


@functools.cache
def python_version() -> str:
    """Return the version of the system's Python.

    Returns:
        Such as "Python 3.11.2"; empty where there is none.
    """
    return output_of([PYTHON, "-V"]) or ""


def canonical_name(name: str) -> str:
    """Return the one spelling of a Python package's name.

    Args:
        name: Any spelling, such as "Jupyter_Server".

    Returns:
        Such as "jupyter-server".

    Source:
        https://packaging.python.org/en/latest/specifications/name-normalization/
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(path: Path) -> dict[str, str]:
    """Read a pinned file.

    Args:
        path: A file of lines name==version, comments and empty lines.

    Returns:
        Version by canonical name, extras left out.

    Raises:
        StepError: If the file is missing or a line is no pin.
    """
    try:
        text = path.read_text()
    except FileNotFoundError as error:
        raise StepError(f"{path} is missing.", f"Make it: {path.parent}/pin.") from error
    pins = {}
    for line in text.splitlines():
        requirement = line.partition("#")[0].strip()
        if not requirement:
            continue
        found = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?==([^\s;]+)", requirement)
        if found is None:
            raise StepError(
                f"'{line}' in {path} is not of the form name==version.",
                f"Name it in {path.stem}.in and run {path.parent}/pin {path.stem}.",
            )
        pins[canonical_name(found[1])] = found[2]
    return pins


def install_environment(plan: Plan, name: str, log: IO[str]) -> None:
    """Bring one environment to what its pinned file says.

    Only what differs is installed or taken away, so running programs keep the rest.

    Args:
        plan: Folders and choices.
        name: The environment's name.
        log: Open log file.

    Raises:
        StepError: If the environment cannot be made or a package cannot be installed.
    """
    pins = read_pins(plan.pins(name))
    env_dir = plan.environment(name)
    if not _is_usable(env_dir):
        ensure_packages(["python3-venv"], log)
        shutil.rmtree(env_dir, ignore_errors=True)
        run([PYTHON, "-m", "venv", env_dir], log=log)
    pip = (env_dir / "bin/python", "-m", "pip", "--disable-pip-version-check")
    install = (*pip, "install", "--no-deps", "--no-input", "-r", plan.pins(name))
    run(install, log=log, next_step=REGISTRY_HINT)
    strangers = installed_packages(env_dir) - set(pins) - ADDED_LATER - {"pip"}
    if strangers:
        run((*pip, "uninstall", "--yes", *sorted(strangers)), log=log)


def _is_usable(env_dir: Path) -> bool:
    """Return whether the environment is one of the system's present Python."""
    return output_of([env_dir / "bin/python", "-V"]) == python_version()


def installed_packages(env_dir: Path) -> set[str]:
    """Return what is installed in an environment.

    Args:
        env_dir: Its folder.

    Returns:
        Canonical names.
    """
    listing = output_of([env_dir / "bin/python", "-m", "pip", "list", "--format=json"])
    return {canonical_name(package["name"]) for package in json.loads(listing or "[]")}
