"""Sessions that an administrator has suspended in Slurm: what every page says about them."""

from jupyterhub.user import User

from spawner.hub.session_mixin import SessionMixin

_UNTIL_RESUMED = (
    "It does not respond until they resume it, and then continues where it was. Nothing is lost."
)


def describe_suspension(name: str = "") -> str:
    """Return what is said about a suspended session.

    `name` is empty for the session without one, or if the text is next to its name.
    """
    which = f"the session {name}" if name else "this session"
    return f"An administrator has suspended {which}. {_UNTIL_RESUMED}"


def describe_suspensions(user: User) -> list[str]:
    """Return what every page of the hub says about the suspended sessions of a user.

    `user` is JupyterHub's, or None if nobody is logged in.
    """
    if user is None:
        return []
    return [describe_suspension(name) for name, one in user.spawners.items() if is_suspended(one)]


def is_suspended(spawner: SessionMixin) -> bool:
    """Return whether a session of a spawner that was ready is suspended.

    Returns:
        False also for one that is starting or stopping.
    """
    return bool(spawner.active and not spawner.pending and spawner.is_suspended)
