"""The site's own packages in the environments of the hub and the notebook server."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from deploy.environments.builder.plan import Plan
from deploy.environments.builder.uv import LEFT_OUT, run_pip

ENVIRONMENTS = ("hub", "server")


def extras_path(plan: Plan, name: str) -> Path:
    """Return the requirements file of the site's own packages; it need not exist.

    `name` is one of ENVIRONMENTS.
    """
    return plan.settings_dir / f"extra-{name}.txt"


def resolve_extras(plan: Plan, name: str, lock: Path, log: IO[str]) -> Path | None:
    """Choose versions of the site's own packages that are compatible with the lock.

    The environment must exist. None of the versions in `lock` change.

    Returns:
        A file of pins of the site's packages and their dependencies, which a later build prefers;
        None if the site has none.

    Raises:
        BuildError: If a package is unavailable, or incompatible with the lock.
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
        *(asked, "--constraints", lock, "--output-file", chosen),
        log=log,
        next_step=f"Ask in {asked} for what goes with the versions of {lock}; the log names both.",
    )
    return chosen
