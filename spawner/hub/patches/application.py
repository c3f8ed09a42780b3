"""JupyterHub: what a hub does before and after it takes up its sessions.

* Checks before: JupyterHub calls nobody between reading its configuration and its sessions.
* Their users before, in a few queries: it follows each session to its user with queries of its own.
  With a thousand sessions that is most of a restart.
* Their OAuth clients after, in one query: SQLAlchemy asks for that of each session whose row
  changes, and with the first look at the proxy all of them change.

Source:
    JupyterHub 6.1.1, `JupyterHub.init_spawners`. Its `populate_existing` forgets clients that were
    loaded before.

Shown by:
    tests/unit/spawner/hub/patches/test_application.py
"""

from collections.abc import Awaitable, Callable
from typing import Any

from jupyterhub import orm
from jupyterhub.app import JupyterHub
from sqlalchemy.orm import Session as Database
from sqlalchemy.orm import selectinload

from spawner.patch import wrap

_Check = Callable[[Any], Awaitable[None]]
# Each once, in their order.
_checks: dict[_Check, None] = {}


def before_sessions(check: _Check) -> None:
    """Have `check` awaited with the hub, a `JupyterHub`, before it takes up its sessions; once."""
    _checks[check] = None
    wrap(JupyterHub, "init_spawners", _prepared)


def load_users_with_sessions(database: Database) -> list[orm.User]:
    """Return the users of running sessions; their sessions and servers are loaded, too.

    SQLAlchemy knows what it has loaded only as long as somebody holds it.
    """
    users = database.query(orm.User).filter(
        orm.User._orm_spawners.any(orm.Spawner.server_id.is_not(None))
    )
    found: list[orm.User] = users.options(selectinload(orm.User._orm_spawners)).all()
    return found


def load_clients(database: Database) -> None:
    """Load the OAuth clients of running sessions, whose rows are loaded."""
    running = database.query(orm.Spawner).filter(orm.Spawner.server_id.is_not(None))
    running.options(selectinload(orm.Spawner.oauth_client)).all()


def _prepared(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    async def init_spawners(self: Any) -> Any:
        for check in _checks:
            await check(self)
        users = load_users_with_sessions(self.db)
        n_spawners = await original(self)
        # Held up to here, see load_users_with_sessions.
        del users
        load_clients(self.db)
        return n_spawners

    return init_spawners
