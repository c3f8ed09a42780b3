"""A database of the hub that cannot be written: locked by another process, or its disk full.

SQLite has one write lock. A write of the hub asks for it for 25 ms, since its event loop waits, and
what may wait asks first, between two turns of the loop. Reading never waits, by SQLite's
write-ahead log.
"""

import asyncio
import contextlib
import os
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
_LEAST_FREE_BYTES = 64 * 1024
_FULL_TEXTS = ("disk is full", "No space left on device")


class UnwritableError(HTTPError, SQLAlchemyError):
    """A write failed; JupyterHub rolls back, and answers with `jupyterhub_message`."""

    def __init__(self, status: int, reason: str, sentence: str) -> None:
        HTTPError.__init__(self, status, reason=reason)
        self.jupyterhub_message = sentence


class DatabaseLockedError(UnwritableError):
    """Another process holds the write lock: 503."""

    def __init__(self) -> None:
        super().__init__(
            503,
            "Service Unavailable",
            "Another program holds the portal's database, so nothing can be saved just now. Running"
            f" sessions continue. Try again in {RETRY_AFTER_S} seconds. If this continues, tell the"
            " administrators.",
        )
        self.headers = {"Retry-After": str(RETRY_AFTER_S)}


class DatabaseFullError(UnwritableError):
    """There is no space left: 507."""

    def __init__(self) -> None:
        super().__init__(
            507,
            "Insufficient Storage",
            "The disk of the portal's database is full, so nothing can be started, stopped or"
            " logged in to just now. Running sessions continue. Tell the administrators, and try"
            " again when they have freed space.",
        )


def register() -> None:
    """Set up the databases that this process opens from now on; once is enough."""
    if not event.contains(Engine, "connect", _set_up):
        event.listen(Engine, "connect", _set_up)
        event.listen(Engine, "handle_error", _raise_if_unwritable)


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
    file = _file_of(db.get_bind())
    return file is None or _is_roomy(file)


def is_locked(db: Any) -> bool:
    """Return whether another process holds SQLite's write lock; false for other databases.

    `db` is JupyterHub's session of SQLAlchemy.
    """
    file = _file_of(db.get_bind())
    if file is None:
        return False
    if db.is_active and db.connection().connection.dbapi_connection.in_transaction:
        return False
    probe = sqlite3.connect(file, timeout=0, isolation_level=None)
    with contextlib.closing(probe):
        try:
            probe.execute("BEGIN IMMEDIATE")
            probe.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            # Any other fault is reported by the write itself.
            return _says_locked(error)
    return False


async def wait_for_lock(db: Any, timeout_s: float) -> None:
    """Wait until no other process holds the write lock.

    Args:
        db: JupyterHub's session of SQLAlchemy.

    Raises:
        DatabaseLockedError: If another process still holds it then.
    """
    give_up_at = time.monotonic() + timeout_s
    while is_locked(db):
        if time.monotonic() >= give_up_at:
            raise DatabaseLockedError
        await asyncio.sleep(_PAUSE_S)


def roll_back_failed(db: Any) -> None:
    """Roll back what failed in JupyterHub's session `db`, since the next write would fail, too."""
    if not db.is_active:
        db.rollback()


def _file_of(engine: Any) -> str | None:
    url = engine.url
    is_file = url.get_backend_name() == "sqlite" and url.database not in {None, "", ":memory:"}
    return url.database if is_file else None


def _is_roomy(database: str) -> bool:
    try:
        space = os.statvfs(os.path.dirname(database))
    except OSError:
        return True
    return space.f_bavail * space.f_frsize >= _LEAST_FREE_BYTES


def _set_up(connection: Any, _record: object) -> None:
    if not isinstance(connection, sqlite3.Connection):
        return
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode == "wal":
            # The event loop waits for no disk. A hub that is killed loses nothing, a host without
            # power what the system had not written yet, half a minute as a rule.
            connection.execute("PRAGMA synchronous = NORMAL")
        # A hub that was killed left its last changes there, and copies of the file lack them.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError:
        # Locked, or no room: the hub runs without, and tries again at its next start.
        return


def _raise_if_unwritable(context: ExceptionContext) -> UnwritableError | None:
    error, engine = context.original_exception, context.engine
    is_sqlite = engine is not None and engine.dialect.name == "sqlite"
    if is_sqlite and _says_locked(error):
        return DatabaseLockedError()
    database = engine.url.database if is_sqlite and engine is not None else None
    return DatabaseFullError() if is_full(error, database) else None


def _says_locked(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "database is locked" in str(error)
