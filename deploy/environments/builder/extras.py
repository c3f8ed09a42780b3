"""The site's own packages in the portal's environments, and locked ones that the site raises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from deploy.environments.builder.plan import Plan
from deploy.environments.builder.uv import LEFT_OUT, canonical_name, run_pip

ENVIRONMENTS = ("hub", "server", "tensorflow", "pytorch")
_PINNED = re.compile(r"([\w.-]+)==([\w.+!-]+)")


def extras_path(plan: Plan, name: str) -> Path:
    """Return the requirements file of the site's own packages; it need not exist.

    `name` is one of ENVIRONMENTS.
    """
    return plan.settings_dir / f"extra-{name}.txt"


def write_lock(plan: Plan, name: str, lock: Path, pins: Mapping[str, str], log: IO[str]) -> Path:
    """Return the lock without the packages that the site raises, for which a lock is too old.

    The environment must exist. The site raises a package by a line NAME==VERSION with a newer
    version than the lock's, whose `pins` are by canonical name. An older line is dropped, so that
    it holds no later release back.
    """
    asked = extras_path(plan, name)
    if name not in ENVIRONMENTS or not asked.exists():
        return lock
    lines, raised = [], set()
    for line in asked.read_text().splitlines():
        found = _PINNED.fullmatch(line.partition("#")[0].strip())
        package = canonical_name(found[1]) if found else ""
        if found is None or package not in pins:
            lines.append(line)
        elif _release(found[2]) > _release(pins[package]):
            lines.append(line)
            raised.add(package)
            print(f"{asked} raises {package} from {pins[package]} to {found[2]}.", file=log)
        else:
            print(f"{line!r} of {asked} is not newer than {pins[package]}: left out.", file=log)
    _asked_of(plan, name).write_text("".join(f"{line}\n" for line in lines))
    # Each package begins a line; its hashes follow on further ones.
    blocks = re.split(r"^(?=[\w.-]+={2,3})", lock.read_text(), flags=re.MULTILINE)
    kept = (block for block in blocks if canonical_name(block.partition("=")[0]) not in raised)
    own = plan.environment(name) / "lock.txt"
    own.write_text("".join(kept))
    return own


def _asked_of(plan: Plan, name: str) -> Path:
    return plan.environment(name) / f"asked-{name}.txt"


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version up to its first letter or its local part."""
    return tuple(int(number) for number in re.findall(r"\d+", re.split(r"[+a-z]", version)[0]))


def check_raised(plan: Plan, name: str, log: IO[str]) -> None:
    """See whether all packages of an environment go together."""
    run_pip(
        plan,
        "check",
        plan.environment(name),
        log=log,
        next_step=f"Raise in {extras_path(plan, name)} what needs an older version, too; the log "
        "names it.",
    )


def resolve_extras(plan: Plan, name: str, lock: Path, log: IO[str]) -> Path | None:
    """Choose versions of the site's own packages that are compatible with the lock.

    The environment must exist. None of the versions in `lock` change, which `write_lock` made.

    Returns:
        A file of pins of the site's packages and their dependencies, which a later build prefers;
        None if the site has none.
    """
    asked = extras_path(plan, name)
    if name not in ENVIRONMENTS or not asked.exists():
        return None
    env_dir = plan.environment(name)
    # Goes with the environment: one that is made again for another Python chooses afresh.
    chosen = env_dir / asked.name
    run_pip(
        plan,
        "compile",
        env_dir,
        *("--quiet", "--no-header", "--no-annotate", *LEFT_OUT),
        *(_asked_of(plan, name), "--constraints", lock, "--output-file", chosen),
        log=log,
        next_step=f"Ask in {asked} for what goes with the versions of {lock}; the log names both.",
    )
    return chosen
