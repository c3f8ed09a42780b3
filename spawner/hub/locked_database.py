"""Requests, starts and stops while another process holds the hub's database: they wait, unlost.

JupyterHub's own handling answers 403 to a good token whose use it cannot note, and ends a start
whose step it cannot save.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jupyterhub.handlers import BaseHandler
from jupyterhub.user import User
from sqlalchemy.exc import SQLAlchemyError

from spawner.session.database import LOCK_TIMEOUT_S
from spawner.session.database_lock import (
    DatabaseLockedError,
    is_writable,
    listen,
    wait_until_writable,
)

# Less than browsers, front ends and the hub's own clients wait for an answer.
REQUEST_WAIT_S = 8.0
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
# GET requests of a login, which write.
_LOGIN_PATHS = ("oauth2/authorize", "oauth_callback")


def register() -> None:
    """Make the hub wait for the lock outside its event loop, once."""
    if hasattr(BaseHandler.prepare, "waits_for_database"):
        return
    listen()
    BaseHandler.get_current_user = _known_unnoted(BaseHandler.get_current_user)
    BaseHandler.prepare = _prepared(BaseHandler.prepare)
    BaseHandler.prepare.waits_for_database = True
    User.spawn = _waiting(User.spawn)
    User.stop = _waiting(User.stop)


def _writes(handler: Any) -> bool:
    request = handler.request
    return request.method not in _READS or request.path.endswith(_LOGIN_PATHS)


def _prepared(original: Callable[..., Any]) -> Callable[..., Any]:
    async def prepare(self: Any) -> None:
        try:
            if not self.db.is_active:
                # A failed write that nobody rolled back would fail this request, too.
                self.db.rollback()
            if _writes(self):
                await wait_until_writable(self.db, REQUEST_WAIT_S)
            await self.get_current_user()
        except DatabaseLockedError:
            # JupyterHub would take this for nobody, and answer 403.
            self._jupyterhub_user = None
            self.expanded_scopes = set()
            self.db.rollback()
            self._resolve_roles_and_scopes()
            raise
        except Exception as error:
            # As JupyterHub does, which finds the user known to be nobody when it asks again.
            self.log.exception("Failed to get current user")
            if isinstance(error, SQLAlchemyError):
                self.db.rollback()
        await original(self)

    return prepare


def _known_unnoted(original: Callable[..., Any]) -> Callable[..., Any]:
    async def get_current_user(self: Any) -> Any:
        if not hasattr(self, "_jupyterhub_user") and not is_writable(self.db):
            # A token or cookie is good although the time of its use cannot be saved.
            self._record_activity = lambda *_: False
        return await original(self)

    return get_current_user


def _waiting(original: Callable[..., Any]) -> Callable[..., Any]:
    async def change(self: Any, *arguments: Any, **options: Any) -> Any:
        await wait_until_writable(self.db, LOCK_TIMEOUT_S)
        return await original(self, *arguments, **options)

    return change
