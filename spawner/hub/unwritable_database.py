"""Requests, starts and stops while the hub's database cannot be written: locked, or its disk full.

JupyterHub's own handling answers 403 to a good token whose use it cannot note, ends a start whose
step it cannot save, leaves a session whose end it cannot save "pending stop" for ever, and says
"Internal Server Error".
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from jupyterhub.handlers import BaseHandler
from jupyterhub.user import User
from sqlalchemy import event
from sqlalchemy.engine import Engine, ExceptionContext
from sqlalchemy.exc import SQLAlchemyError
from tornado.web import HTTPError

from spawner.session.database import LOCK_TIMEOUT_S
from spawner.session.database_lock import (
    DatabaseLockedError,
    is_writable,
    listen,
    wait_until_writable,
)

RETRY_S = 5.0
# Less than browsers, front ends and the hub's own clients wait for an answer.
REQUEST_WAIT_S = 8.0
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
# GET requests of a login, which write.
_LOGIN_PATHS = ("oauth2/authorize", "oauth_callback")
_LEAST_FREE_BYTES = 64 * 1024
_FULL_TEXTS = ("disk is full", "No space left on device")
_SENTENCE = (
    "The disk of the portal's database is full, so nothing can be started, stopped or logged in to "
    "just now. Running sessions continue. Tell the administrators, and try again when they have "
    "freed space."
)
_retries: set[asyncio.Task[None]] = set()


class StateDiskFullError(HTTPError, SQLAlchemyError):
    """The hub's database has no space left; JupyterHub answers 507 with `jupyterhub_message`."""

    def __init__(self) -> None:
        HTTPError.__init__(self, 507, reason="Insufficient Storage")
        self.jupyterhub_message = _SENTENCE


def register() -> None:
    """Make the hub survive a full disk, and wait for a lock outside its event loop; once."""
    if event.contains(Engine, "handle_error", _raise_if_disk_full):
        return
    event.listen(Engine, "handle_error", _raise_if_disk_full)
    listen()
    BaseHandler.get_current_user = _known_without_a_note(BaseHandler.get_current_user)
    BaseHandler.prepare = _prepared(BaseHandler.prepare)
    User.spawn = _spawned(User.spawn)
    User.stop = _stopped_in_the_end(User.stop)


def is_full(error: BaseException | None, database: str | None) -> bool:
    """Return whether a write failed because the disk is full.

    Args:
        error: The error of the database's driver.
        database: Path of SQLite's file, since SQLite also says "disk I/O error" for it; None for
            other databases.
    """
    if any(text in str(error) for text in _FULL_TEXTS):
        return True
    return database is not None and not _is_roomy(database)


def has_room(db: Any) -> bool:
    """Return whether SQLite's disk can take a change; true for other databases.

    `db` is JupyterHub's session of SQLAlchemy.
    """
    url = db.get_bind().url
    is_file = url.get_backend_name() == "sqlite" and url.database not in {None, "", ":memory:"}
    return not is_file or _is_roomy(url.database)


def _is_roomy(database: str) -> bool:
    try:
        space = os.statvfs(os.path.dirname(database))
    except OSError:
        return True
    return space.f_bavail * space.f_frsize >= _LEAST_FREE_BYTES


def _raise_if_disk_full(context: ExceptionContext) -> StateDiskFullError | None:
    engine = context.engine
    is_sqlite = engine is not None and engine.dialect.name == "sqlite"
    database = engine.url.database if is_sqlite and engine is not None else None
    return StateDiskFullError() if is_full(context.original_exception, database) else None


def _roll_back_failed(db: Any) -> None:
    # A failed write that nobody rolled back would fail this one, too.
    if not db.is_active:
        db.rollback()


def _writes(handler: Any) -> bool:
    request = handler.request
    return request.method not in _READS or request.path.endswith(_LOGIN_PATHS)


def _prepared(original: Callable[..., Any]) -> Callable[..., Any]:
    async def prepare(self: Any) -> None:
        try:
            _roll_back_failed(self.db)
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


def _known_without_a_note(original: Callable[..., Any]) -> Callable[..., Any]:
    async def get_current_user(self: Any) -> Any:
        if not hasattr(self, "_jupyterhub_user") and not is_writable(self.db):
            # A token or cookie is good although the time of its use cannot be saved.
            self._record_activity = lambda *_: False
        try:
            return await original(self)
        except StateDiskFullError:
            self.db.rollback()
            self._record_activity = lambda *_: False
            # JupyterHub has noted after the error that nobody is logged in.
            del self._jupyterhub_user
            return await original(self)

    return get_current_user


def _spawned(original: Callable[..., Any]) -> Callable[..., Any]:
    async def spawn(self: Any, *arguments: Any, **options: Any) -> Any:
        await wait_until_writable(self.db, LOCK_TIMEOUT_S)
        try:
            return await original(self, *arguments, **options)
        except SQLAlchemyError:
            # JupyterHub rolls back at the end of a request, but a start outlives its request.
            self.db.rollback()
            raise

    return spawn


def _stopped_in_the_end(original: Callable[..., Any]) -> Callable[..., Any]:
    async def stop(self: Any, server_name: str = "") -> None:
        await wait_until_writable(self.db, LOCK_TIMEOUT_S)
        spawner = self.spawners[server_name]
        try:
            await original(self, server_name)
        except SQLAlchemyError:
            self.db.rollback()
            # JupyterHub leaves it set, and the session would be pending for ever.
            spawner._stop_pending = False
            retry = asyncio.ensure_future(_stop_again(self, server_name))
            _retries.add(retry)
            retry.add_done_callback(_retries.discard)
            raise

    async def _stop_again(user: Any, name: str) -> None:
        while True:
            await asyncio.sleep(RETRY_S)
            # JupyterHub may have thrown this object away; the row in the database is what counts.
            spawner = user.spawners[name]
            try:
                _roll_back_failed(user.db)
                # Another start or stop has taken over, or the job runs on after all.
                if spawner.server is None or spawner.pending or await spawner.poll() is None:
                    return
                await original(user, name)
                # A hub that was started meanwhile may have taken the session for a ready one.
                await user.settings["proxy"].delete_user(user, name)
            except SQLAlchemyError as error:
                user.db.rollback()
                spawner._stop_pending = False
                spawner.log.warning("The end of a session cannot be kept yet: %s", error)

    return stop
