"""Sessions whose processes an administrator has stopped for a while: said on every page."""

from __future__ import annotations

from typing import Any

_UNTIL_RESUMED = (
    "It answers nothing until they resume it, and then goes on where it was; nothing in it is lost."
)


def describe_suspension(name: str = "") -> str:
    """Return what is said of a session that stands still.

    Args:
        name: Its name; empty for the one without, or where the words stand beside it.

    Returns:
        Two sentences.
    """
    which = f"the session {name}" if name else "this session"
    return f"An administrator has suspended {which}. {_UNTIL_RESUMED}"


def describe_suspensions(user: Any) -> list[str]:
    """Return what every page of the hub says of a user's sessions that stand still.

    Args:
        user: JupyterHub's user, or None where nobody has logged in.

    Returns:
        Two sentences for each.
    """
    if user is None:
        return []
    return [describe_suspension(name) for name, one in user.spawners.items() if is_suspended(one)]


def is_suspended(spawner: Any) -> bool:
    """Return whether a session that was ready stands still.

    Args:
        spawner: A SlurmGPUSpawner.

    Returns:
        False also for one that starts or stops.
    """
    return bool(spawner.active and not spawner.pending and spawner.is_suspended)
