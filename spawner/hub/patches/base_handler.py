"""BaseHandler: requests while the hub's database cannot be written.

JupyterHub answers 403 to a good token or cookie if it cannot save when it was last used, and writes
in its event loop, where everybody waits for a lock.

Source:
    JupyterHub 6.1.1, `BaseHandler.prepare` and `BaseHandler.get_current_user`.

Shown by:
    tests/slurm/test_locked_database.py
    tests/slurm/test_state_disk.py
"""

from collections.abc import Callable
from typing import Any

from jupyterhub.handlers import BaseHandler

from spawner.patch import wrap
from spawner.unwritable_database import (
    DatabaseLockedError,
    UnwritableError,
    roll_back_failed,
    wait_for_lock,
)

# Less than browsers, front ends and the hub's own clients wait for an answer.
REQUEST_WAIT_S = 8.0
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
# GET requests of a login, which write.
_LOGIN_PATHS = ("oauth2/authorize", "oauth_callback")


def register() -> None:
    """Have requests wait for the lock outside of the event loop, and users known without a note."""
    wrap(BaseHandler, "prepare", _prepared)
    wrap(BaseHandler, "get_current_user", _known_without_a_note)


def _writes(request: Any) -> bool:
    return request.method not in _READS or request.path.endswith(_LOGIN_PATHS)


def _prepared(original: Callable[..., Any]) -> Callable[..., Any]:
    async def prepare(self: Any) -> None:
        roll_back_failed(self.db)
        locked = None
        try:
            if _writes(self.request):
                await wait_for_lock(self.db, REQUEST_WAIT_S)
        except DatabaseLockedError as error:
            locked = error
        await original(self)
        # Only now: the page of an error needs to know its user.
        if locked is not None:
            raise locked

    return prepare


def _known_without_a_note(original: Callable[..., Any]) -> Callable[..., Any]:
    async def get_current_user(self: Any) -> Any:
        try:
            return await original(self)
        except UnwritableError:
            self.db.rollback()
            # A token or cookie is good although the time of its use cannot be saved.
            self._record_activity = lambda *_: False
            # JupyterHub has noted after the error that nobody is logged in.
            del self._jupyterhub_user
            return await original(self)

    return get_current_user
