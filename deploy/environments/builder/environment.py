"""Virtual environments that hold exactly what uv.lock has for them, and the site's own packages."""

import json
import shutil
from pathlib import Path
from typing import IO

from deploy.common.errors import DeployError
from deploy.environments.builder import extras, uv
from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.package_sources import ORDINARY_INDEX, SETTING
from deploy.environments.builder.plan import Plan, read_version
from deploy.environments.builder.process import read_output, run
from deploy.environments.builder.target import Target

# Installed by targets of their own, not named in the lock.
ADDED_LATER = frozenset({"data-scientist-portal", "dsportal", "horovod"})
# What an environment was made from, for 'dsportal check'.
PINS_FILE = "pins.txt"
REGISTRY_HINT = (
    f"See whether this machine reaches {ORDINARY_INDEX}, or name what it reaches in {SETTING},"
    " then run the build again."
)


def install_uv(plan: Plan, log: IO[str]) -> None:
    """Install uv, which installs everything else."""
    env_dir = plan.environment(uv.NAME)
    _ensure_environment(plan, env_dir, log)
    lock = env_dir / "lock.txt"
    lock.write_text(uv.uv_requirement(plan))
    pip = (env_dir / "bin/python", "-m", "pip", "install", "--no-deps", "--require-hashes")
    run((*pip, "-r", lock), log=log, next_step=REGISTRY_HINT)


def install_environment(plan: Plan, name: str, log: IO[str], requirements: str = "") -> None:
    """Make one environment match the lock plus the site's own packages.

    Installs and removes only what differs, so running programs keep the rest.

    The environment `uv` must exist. `requirements` replaces those that the lock has.
    """
    requirements = requirements or uv.locked(plan, name)
    if not requirements:
        raise DeployError(
            f"{plan.project(name)}/uv.lock has nothing for {name} on Python {plan.python_release}.",
            "The pyproject.toml there names the Pythons and groups that it is for.",
        )
    env_dir = plan.environment(name)
    _ensure_environment(plan, env_dir, log)
    of_site = extras.read_extras(plan, name, uv.read_pins(requirements), log)
    requirements = uv.without(requirements, of_site.raised)
    lock = env_dir / "lock.txt"
    lock.write_text(requirements)
    chosen = extras.resolve_extras(plan, name, of_site, lock, log)
    pins = uv.read_pins(requirements)
    wanted = {*pins, *(uv.read_pins(chosen.read_text()) if chosen else ())}
    installed = installed_packages(plan, env_dir)
    # First, since tensorflow and tensorflow-cpu share their files.
    if strangers := set(installed) - wanted - ADDED_LATER - {"pip"}:
        uv.run_pip(plan, "uninstall", env_dir, *sorted(strangers), log=log)
    # 2.13.0 asks for no more than 2.13.0+cpu has, and would leave it.
    renewed = [
        f"--reinstall-package={key}"
        for key, version in sorted(pins.items())
        if installed.get(key, "").startswith(f"{version}+")
    ]
    _install(plan, env_dir, *renewed, "--require-hashes", "-r", lock, log=log)
    if chosen is not None:
        # Those of the site have no hashes.
        _install(plan, env_dir, "-r", chosen, log=log)
        extras.check_raised(plan, name, log)
    found = installed_packages(plan, env_dir).items()
    kept = sorted(f"{key}=={version}\n" for key, version in found if key in wanted)
    (env_dir / PINS_FILE).write_text("".join(kept))


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
    return {uv.canonical_name(package["name"]): package["version"] for package in found}


def installed_pins(plan: Plan, name: str) -> dict[str, str]:
    """Return the versions with which an environment was built, by canonical name."""
    path = plan.environment(name) / PINS_FILE
    try:
        return uv.read_pins(path.read_text())
    except FileNotFoundError as error:
        raise DeployError(f"{path} is missing.", f"Build the environment {name}.") from error


def environment_target(name: str, summary: str) -> Target:
    """Return the target of an environment made of its lock and the site's own packages."""

    def build(plan: Plan, log: IO[str]) -> None:
        install_environment(plan, name, log)

    def results(plan: Plan) -> list[Path]:
        return [plan.environment(name) / "bin/python"]

    return Target(
        name=name,
        summary=summary,
        build=build,
        made_from=lambda plan: sources(plan, name),
        results=results,
        needs=(uv.NAME,),
    )


def sources(plan: Plan, name: str) -> list[Path | str]:
    """Return what an environment is made from: its part of the lock, the site's list, a Python."""
    own = [extras.extras_path(plan, name)] if name in extras.ENVIRONMENTS else []
    return [uv.locked(plan, name), *own, plan.interpreter]
