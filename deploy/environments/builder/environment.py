"""Virtual environments that hold exactly what their locks name."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import IO

from deploy.environments.builder import uv
from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.errors import BuildError
from deploy.environments.builder.extras import ENVIRONMENTS as EXTRAS
from deploy.environments.builder.extras import (
    check_raised,
    extras_path,
    resolve_extras,
    write_lock,
)
from deploy.environments.builder.package_sources import ORDINARY_INDEX, SETTING
from deploy.environments.builder.plan import Plan, read_version
from deploy.environments.builder.process import read_output, run
from deploy.environments.builder.target import Target
from deploy.environments.builder.uv import canonical_name

# Installed by targets of their own, not named in the locks.
ADDED_LATER = frozenset({"data-scientist-portal", "dsportal", "horovod"})
# What an environment was made from, for 'dsportal check'.
PINS_FILE = "pins.txt"
REGISTRY_HINT = (
    f"See whether this machine reaches {ORDINARY_INDEX}, or name what it reaches in {SETTING},"
    " then run the build again."
)
# Three equals signs ask for exactly one build: "===2.13.0" does not take 2.13.0+cpu.
_PIN = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?={2,3}([^\s;=]+)")


def read_pins(path: Path) -> dict[str, str]:
    """Read a lock.

    Args:
        path: A file of lines name==version, each with or without hashes.

    Returns:
        Version by canonical name, without extras.

    Raises:
        BuildError: If the file is missing or a line is no pin.
    """
    try:
        text = path.read_text()
    except FileNotFoundError as error:
        raise BuildError(f"{path} is missing.", _cure(path)) from error
    pins = {}
    for line in text.replace("\\\n", "").splitlines():
        requirement = line.partition("#")[0].partition(" --hash=")[0].strip()
        if not requirement:
            continue
        if (found := _PIN.fullmatch(requirement)) is None:
            raise BuildError(f"'{line}' in {path} is not of the form name==version.", _cure(path))
        pins[canonical_name(found[1])] = found[2]
    return pins


def _cure(lock: Path) -> str:
    made = f"{lock.parents[2] / 'pin'} {lock.stem}"
    known = sorted(path.parent.name for path in lock.parents[1].glob(f"*/{lock.name}"))
    if lock.parent.name in known:
        return f"Name it in {lock.stem}.in and run {made}."
    if known:
        return f"Use one of the Pythons that have locks: {', '.join(known)}. {made} makes others."
    return f"Make it: {made}."


def install_uv(plan: Plan, log: IO[str]) -> None:
    """Install uv, which installs everything else."""
    lock = plan.pins(uv.NAME)
    # Only for its error, which names the Pythons that have locks if this one has none.
    read_pins(lock)
    env_dir = plan.environment(uv.NAME)
    _ensure_environment(plan, env_dir, log)
    pip = (env_dir / "bin/python", "-m", "pip", "install", "--no-deps", "--require-hashes")
    run((*pip, "-r", lock), log=log, next_step=REGISTRY_HINT)


def install_environment(plan: Plan, name: str, log: IO[str], lock: Path | None = None) -> None:
    """Make one environment match its lock plus the site's own packages.

    Installs and removes only what differs, so running programs keep the rest.

    The environment `uv` must exist. `lock` replaces the plan's lock.
    """
    lock = lock or plan.pins(name)
    locked = read_pins(lock)
    env_dir = plan.environment(name)
    _ensure_environment(plan, env_dir, log)
    lock = write_lock(plan, name, lock, locked, log)
    pins = read_pins(lock)
    extras = resolve_extras(plan, name, lock, log)
    installed = installed_packages(plan, env_dir)
    wanted = {*pins, *(read_pins(extras) if extras else ())}
    # First, since tensorflow and tensorflow-cpu share their files.
    if strangers := set(installed) - wanted - ADDED_LATER - {"pip"}:
        uv.run_pip(plan, "uninstall", env_dir, *sorted(strangers), log=log)
    # 2.13.0 asks for no more than 2.13.0+cpu has, and would leave it.
    other_builds = (key for key, version in pins.items() if installed.get(key, version) != version)
    renewed = [f"--reinstall-package={key}" for key in sorted(other_builds)]
    _install(plan, env_dir, *renewed, "--require-hashes", "-r", lock, log=log)
    if extras is not None:
        # Pins of the site's own packages have no hashes.
        _install(plan, env_dir, "-r", extras, log=log)
        check_raised(plan, name, log)
        raised = read_pins(extras)
        pins |= {key: raised[key] for key in locked.keys() & raised.keys()}
    lines = (f"{key}=={version}\n" for key, version in sorted(pins.items()))
    (env_dir / PINS_FILE).write_text("".join(lines))


def _install(plan: Plan, env_dir: Path, *words: str | Path, log: IO[str]) -> None:
    # uv compiles nothing by default, and users cannot write there: each start would compile again.
    options = ("--no-deps", "--compile-bytecode")
    uv.run_pip(plan, "install", env_dir, *options, *words, log=log, next_step=REGISTRY_HINT)


def _ensure_environment(plan: Plan, env_dir: Path, log: IO[str]) -> None:
    if not _is_usable(plan, env_dir):
        if not has_venv(plan.python):
            ensure_packages(["python3-venv"], log)
        # venv would keep the packages of another Python.
        shutil.rmtree(env_dir, ignore_errors=True)
        run([plan.python, "-m", "venv", env_dir], log=log)


def has_venv(python: Path) -> bool:
    """Return whether an interpreter has ensurepip and venv, a separate package on Debian."""
    return read_output([python, "-c", "import ensurepip, venv"]) is not None


def _is_usable(plan: Plan, env_dir: Path) -> bool:
    """Return whether the environment was made with this plan's Python."""
    python = env_dir / "bin/python"
    is_same = python.resolve() == plan.python.resolve()
    # It is run as well: an environment that was cut short may not start.
    return is_same and read_output([python, "-V"]) == read_version(plan.python)


def installed_packages(plan: Plan, env_dir: Path) -> dict[str, str]:
    """Return the version of each package in an environment, by canonical name."""
    listing = uv.ask_pip(plan, "list", env_dir, "--format=json")
    found = json.loads(listing or "[]")
    return {canonical_name(package["name"]): package["version"] for package in found}


def environment_target(name: str, summary: str) -> Target:
    """Return the target of an environment made of its lock and the site's own packages."""

    def build(plan: Plan, log: IO[str]) -> None:
        install_environment(plan, name, log)

    def made_from(plan: Plan) -> list[Path | str]:
        own = [extras_path(plan, name)] if name in EXTRAS else []
        return [plan.pins(name), *own, plan.interpreter]

    def results(plan: Plan) -> list[Path]:
        return [plan.environment(name) / "bin/python"]

    return Target(
        name=name,
        summary=summary,
        build=build,
        made_from=made_from,
        results=results,
        needs=(uv.NAME,),
    )
