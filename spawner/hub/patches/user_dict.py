"""UserDict.count_active_users: the count of all sessions, at most once in five seconds.

JupyterHub counts at each start, for two limits and a gauge. With 10,000 sessions that takes 40 ms
of the event loop. Slurm's limits stand in place of JupyterHub's, so the count may be some seconds
old.

Source:
    JupyterHub 6.1.1, `UserDict.count_active_users`.

Shown by:
    tests/unit/spawner/hub/patches/test_user_dict.py
"""

import time
from collections.abc import Callable
from typing import Any

from jupyterhub.user import UserDict

from spawner.patch import wrap

MAX_AGE_S = 5.0


def count_seldom() -> None:
    """Have JupyterHub count seldom, once."""
    wrap(UserDict, "count_active_users", counted_seldom)


def counted_seldom(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return JupyterHub's `original` method as one that repeats its answer for a while."""
    counted_at, counts = -MAX_AGE_S, None

    def count_active_users(self: Any) -> Any:
        nonlocal counted_at, counts
        if time.monotonic() >= counted_at + MAX_AGE_S:
            counts, counted_at = original(self), time.monotonic()
        return counts

    return count_active_users
