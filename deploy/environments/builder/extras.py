"""The site's own packages in the portal's environments, and locked ones that the site raises."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from deploy.environments.builder import uv
from deploy.environments.builder.plan import Plan

ENVIRONMENTS = ("hub", "server", "tensorflow", "pytorch")
_PINNED = re.compile(r"([\w.-]+)==([\w.+!-]+)")


@dataclass(frozen=True, slots=True)
class Extras:
    """What a site asks for in one environment."""

    lines: tuple[str, ...] = ()
    raised: frozenset[str] = frozenset()


def extras_path(plan: Plan, name: str) -> Path:
    """Return the requirements file of the site's own packages; it need not exist.

    `name` is one of ENVIRONMENTS.
    """
    return plan.settings_dir / f"extra-{name}.txt"


def read_extras(plan: Plan, name: str, pins: Mapping[str, str], log: IO[str]) -> Extras:
    """Return what the site asks for beside `pins`, the locked versions by canonical name.

    A line NAME==VERSION with a newer version than the locked one raises that package. An older line
    is dropped, so that it holds no later release back.
    """
    asked = extras_path(plan, name)
    if name not in ENVIRONMENTS or not asked.exists():
        return Extras()
    lines, raised = [], set()
    for line in asked.read_text().splitlines():
        found = _PINNED.fullmatch(line.partition("#")[0].strip())
        package = uv.canonical_name(found[1]) if found else ""
        if found is None or package not in pins:
            lines.append(line)
        elif _release(found[2]) > _release(pins[package]):
            lines.append(line)
            raised.add(package)
            print(f"{asked} raises {package} from {pins[package]} to {found[2]}.", file=log)
        else:
            print(f"{line!r} of {asked} is not newer than {pins[package]}: left out.", file=log)
    return Extras(tuple(lines), frozenset(raised))


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version up to its first letter or its local part."""
    return tuple(int(number) for number in re.findall(r"\d+", re.split(r"[+a-z]", version)[0]))


def check_raised(plan: Plan, name: str, log: IO[str]) -> None:
    """See whether all packages of an environment go together."""
    uv.run_pip(
        plan,
        "check",
        plan.environment(name),
        log=log,
        next_step=f"Raise in {extras_path(plan, name)} what needs an older version, too; the log "
        "names it.",
    )


def resolve_extras(plan: Plan, name: str, extras: Extras, lock: Path, log: IO[str]) -> Path | None:
    """Choose versions of the site's own packages that are compatible with the lock.

    The environment must exist. `lock` is without the packages that the site raises; none of its
    versions change.

    Returns:
        A file of pins of the site's packages and their dependencies, which a later build prefers;
        None if the site has none.
    """
    if not extras.lines:
        return None
    asked = extras_path(plan, name)
    env_dir = plan.environment(name)
    wanted = env_dir / f"asked-{name}.txt"
    wanted.write_text("".join(f"{line}\n" for line in extras.lines))
    # Goes with the environment: one that is made again for another Python chooses afresh.
    chosen = env_dir / asked.name
    left_out = uv.read_toml(plan.recipes_dir / "pyproject.toml")["tool"]["uv"]
    uv.run_pip(
        plan,
        "compile",
        env_dir,
        *("--quiet", "--no-header", "--no-annotate"),
        *(f"--no-emit-package={package}" for package in left_out["exclude-dependencies"]),
        *(wanted, "--constraints", lock, "--output-file", chosen),
        log=log,
        next_step=f"Ask in {asked} for what goes with the versions of {lock}; the log names both.",
    )
    return chosen
