"""Loads what a restarted hub needs of its running sessions in a few queries.

JupyterHub follows each session to its user, and from there to all sessions of that user, with a
query for every step: with a thousand sessions that is most of a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jupyterhub import orm
from jupyterhub.app import JupyterHub
from sqlalchemy.orm import Session as Database
from sqlalchemy.orm import selectinload

_MARK = "_dsportal_preloads"


def register() -> None:
    """Make the hub load users and sessions at once when it takes up its sessions, once."""
    original = JupyterHub.init_spawners
    if not hasattr(original, _MARK):
        JupyterHub.init_spawners = _with_preload(original)


def load_users_with_sessions(database: Database) -> list[orm.User]:
    """Return the users of running sessions; their sessions and servers are loaded, too.

    SQLAlchemy knows what it has loaded only as long as somebody holds it.
    """
    users = database.query(orm.User).filter(
        orm.User._orm_spawners.any(orm.Spawner.server_id.is_not(None))
    )
    spawners = selectinload(orm.User._orm_spawners)
    found: list[orm.User] = users.options(spawners.selectinload(orm.Spawner.oauth_client)).all()
    return found


def _with_preload(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    async def init_spawners(self: Any) -> Any:
        users = load_users_with_sessions(self.db)
        n_spawners = await original(self)
        # Held up to here, see load_users_with_sessions.
        del users
        return n_spawners

    # Other extensions of this method look for their marks.
    init_spawners.__dict__.update(original.__dict__)
    setattr(init_spawners, _MARK, True)
    return init_spawners
