"""User: the end of a session that the hub's database cannot take is saved as soon as it can.

JupyterHub ends the job, fails at its first commit and leaves the session "pending stop" for ever.

Source:
    JupyterHub 6.1.1, `User.stop`.

Shown by:
    tests/unit/spawner/hub/patches/test_user.py
    tests/slurm/test_state_disk.py
"""

import asyncio
from collections.abc import Callable
from typing import Any

from jupyterhub.user import User
from sqlalchemy.exc import SQLAlchemyError

from spawner.patch import wrap
from spawner.unwritable_database import roll_back_failed

RETRY_S = 5.0
# The event loop keeps only weak references to tasks.
_retries: set[asyncio.Task[None]] = set()


def register() -> None:
    """Have ends that failed tried again until they are saved."""
    wrap(User, "stop", stopped_in_the_end)


def stopped_in_the_end(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return JupyterHub's `original` method as one that tries again."""

    async def stop(self: Any, server_name: str = "") -> None:
        # JupyterHub rolls back at the end of a request, but a start outlives its request.
        roll_back_failed(self.db)
        spawner = self.spawners[server_name]
        try:
            await original(self, server_name)
        except SQLAlchemyError as error:
            self.db.rollback()
            spawner._stop_pending = False
            spawner.log.warning("The end of a session cannot be saved yet: %s", error)
            retry = asyncio.ensure_future(_stop_again(self, server_name))
            _retries.add(retry)
            retry.add_done_callback(_retries.discard)
            raise

    async def _stop_again(user: User, name: str) -> None:
        await asyncio.sleep(RETRY_S)
        # JupyterHub may have thrown this object away; the row in the database is what counts.
        spawner = user.spawners[name]
        # Another start or stop has taken over, or the job runs on after all.
        if spawner.server is None or spawner.pending or await spawner.poll() is None:
            return
        try:
            await stop(user, name)
        except SQLAlchemyError:
            # It is tried again.
            return
        # A hub that was started meanwhile may have taken the session for a ready one.
        await user.settings["proxy"].delete_user(user, name)

    return stop
