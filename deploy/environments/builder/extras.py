"""The site's own packages in the hub's and the notebook server's environment."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from deploy.environments.builder.plan import Plan
from deploy.environments.builder.uv import LEFT_OUT, run_pip

ENVIRONMENTS = ("hub", "server")


def extras_path(plan: Plan, name: str) -> Path:
    """Return the file that names the site's own packages for an environment.

    Args:
        plan: Folders and choices.
        name: One of ENVIRONMENTS.

    Returns:
        A requirements file; need not exist.
    """
    return plan.settings_dir / f"extra-{name}.txt"


def resolve_extras(plan: Plan, name: str, lock: Path, log: IO[str]) -> Path | None:
    """Choose versions of the site's own packages that go with the lock.

    Args:
        plan: Folders and choices.
        name: The environment's name; it must be there.
        lock: Its lock, whose versions stay.
        log: Open log file.

    Returns:
        A file of pins of all that the site's packages need, which a later build prefers; None
        where the site has none.

    Raises:
        StepError: If a package cannot be had, or not beside the versions of the lock.
    """
    asked = extras_path(plan, name)
    if name not in ENVIRONMENTS or not asked.exists():
        return None
    env_dir = plan.environment(name)
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
