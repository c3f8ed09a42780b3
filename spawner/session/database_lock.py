"""SQLite's one write lock, which another process may hold: the hub's event loop never waits for it.

A write asks for the lock for 25 ms, and what may wait asks first, between two turns of the loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine, ExceptionContext
from sqlalchemy.exc import SQLAlchemyError
from tornado.web import HTTPError

BUSY_TIMEOUT_MS = 25
RETRY_AFTER_S = 5
_PAUSE_S = 0.05
_SENTENCE = (
    "Another program holds the portal's database, so nothing can be saved just now. Running"
    f" sessions continue. Try again in {RETRY_AFTER_S} seconds; if this continues, tell the"
    " administrators."
)
# A connection for each database file, which only ever asks for the lock.
_probes: dict[str, sqlite3.Connection] = {}


class DatabaseLockedError(HTTPError, SQLAlchemyError):
    """Another process holds the write lock; JupyterHub answers 503 with `jupyterhub_message`."""

    def __init__(self) -> None:
        HTTPError.__init__(self, 503, reason="Service Unavailable")
        self.jupyterhub_message = _SENTENCE
        self.headers = {"Retry-After": str(RETRY_AFTER_S)}


def listen() -> None:
    """Set up the SQLite databases that this process opens from now on; once is enough."""
    if not event.contains(Engine, "connect", _set_up):
        event.listen(Engine, "connect", _set_up)
        event.listen(Engine, "handle_error", _raise_if_locked)


def is_writable(db: Any) -> bool:
    """Return whether a write would find the lock free; true for other databases than SQLite.

    Args:
        db: JupyterHub's session of SQLAlchemy.
    """
    url = db.get_bind().url
    if url.get_backend_name() != "sqlite" or url.database in {None, "", ":memory:"}:
        return True
    if db.is_active and db.connection().connection.dbapi_connection.in_transaction:
        return True
    probe = _probes.get(url.database)
    if probe is None:
        probe = sqlite3.connect(
            url.database, timeout=0, isolation_level=None, check_same_thread=False
        )
        _probes[url.database] = probe
    try:
        probe.execute("BEGIN IMMEDIATE")
        probe.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        # What else is wrong is told by the write itself.
        return not _is_locked(error)
    return True


async def wait_until_writable(db: Any, timeout_s: float) -> None:
    """Wait until a write would find the lock free.

    Args:
        db: JupyterHub's session of SQLAlchemy.
        timeout_s: The longest wait.

    Raises:
        DatabaseLockedError: If another process still holds it then.
    """
    give_up_at = time.monotonic() + timeout_s
    while not is_writable(db):
        if time.monotonic() >= give_up_at:
            raise DatabaseLockedError
        await asyncio.sleep(_PAUSE_S)


def _set_up(connection: Any, _record: object) -> None:
    if not isinstance(connection, sqlite3.Connection):
        return
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    try:
        # Who reads then never waits for who writes, nor the other way round.
        connection.execute("PRAGMA journal_mode = WAL")
        # A hub that was killed left its last changes there, and copies of the file lack them.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError:
        # Locked, or no room: the hub runs without, and tries again at its next start.
        return


def _raise_if_locked(context: ExceptionContext) -> DatabaseLockedError | None:
    error = context.original_exception
    is_sqlite = isinstance(error, sqlite3.OperationalError)
    return DatabaseLockedError() if is_sqlite and _is_locked(error) else None


def _is_locked(error: BaseException) -> bool:
    return "database is locked" in str(error)
