"""A spawner's data in the hub's database."""

from typing import Any

from jupyterhub import orm
from sqlalchemy import inspect
from sqlalchemy.exc import SQLAlchemyError

from spawner.session.progress import Progress
from spawner.session.session import Session
from spawner.unwritable_database import wait_for_lock

# Longer than anything but a mistake holds the lock.
LOCK_TIMEOUT_S = 600.0


class SpawnerDatabase:
    """The database rows of one spawner.

    Every change is committed at once: a hub may die at any moment.
    """

    def __init__(self, orm_spawner: orm.Spawner) -> None:
        self._row = orm_spawner

    @property
    def _db(self) -> Any:
        return inspect(self._row).session

    async def wait_for_lock(self) -> None:
        """Wait until no other process holds the database.

        Raises:
            DatabaseLockedError: If one still does after 10 minutes.
        """
        db = self._db
        # The row may have been deleted meanwhile.
        if db is not None:
            await wait_for_lock(db, LOCK_TIMEOUT_S)

    def save(self, session: Session, progress: Progress) -> None:
        """Save a session and the steps of its start."""
        self._row.state = session.to_state() | progress.to_state()
        self._commit()

    def save_options(self, options: dict[str, object]) -> None:
        """Save the user's options, in their normal form, for the next form."""
        self._row.user_options = options
        self._commit()

    def find_token_id(self, token: str) -> int:
        """Return the id of a token's row; 0 if there is none."""
        row = orm.APIToken.find(self._db, token)
        return int(row.id) if row is not None else 0

    def revoke_token(self, token_id: int) -> None:
        """Delete a token.

        Args:
            token_id: Id of its row; 0 for none.
        """
        db = self._db
        row = db.get(orm.APIToken, token_id) if token_id else None
        if row is not None:
            db.delete(row)
            self._commit()

    def _commit(self) -> None:
        try:
            self._db.commit()
        except SQLAlchemyError:
            # The whole hub shares one database session: without this the next request would fail.
            self._db.rollback()
            raise

    def read_ids(self) -> set[str]:
        """Return the ids of all sessions of the hub, not of this spawner alone."""
        # JupyterHub deletes the server's row when a session has ended; its state may stay.
        rows = self._db.query(orm.Spawner).filter(orm.Spawner.server_id.isnot(None))
        sessions = (Session.from_state(row.state or {}) for row in rows)
        return {session.session_id for session in sessions if session is not None}
