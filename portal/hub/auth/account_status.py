"""Rechecks whether logged-in users may still log in, with a short memory of the answers."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from spawner.cache import Cache

# A refused user's browser asks with each request; an account that is repaired works again soon.
REFUSAL_AGE_S = 60.0
# While nothing answers, only one request in this time waits for the timeout.
NO_ANSWER_AGE_S = 30.0
_N_MOST_REMEMBERED = 10_000


class LoginPermission(Enum):
    """Whether an account still admits its owner."""

    MAY = "may log in"
    MAY_NOT = "may not log in"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStatus:
    """Result of checking an account.

    Attributes:
        reason: Why not, or why it is not known: a sentence for administrators.
        groups: UNIX groups of an account whose owner may log in.
    """

    verdict: LoginPermission
    reason: str = ""
    groups: tuple[str, ...] = ()


class AccountStatusCache:
    """Caches refusals and silence for a while; JupyterHub itself remembers good news."""

    def __init__(
        self,
        ask: Callable[[str], Awaitable[AccountStatus]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # Only refusals stay in it.
        self._known = Cache(ask, fresh_s=REFUSAL_AGE_S, n_kept=_N_MOST_REMEMBERED, clock=clock)
        self._clock = clock
        self._silent_until_s = 0.0
        self._silence = AccountStatus(verdict=LoginPermission.UNKNOWN)

    async def of(self, name: str) -> AccountStatus:
        """Return a user's standing, a minute old at most; concurrent callers share one check."""
        # A refusal that is still remembered counts even while nothing answers.
        if self._known.fresh(name) is None and self._clock() < self._silent_until_s:
            return self._silence
        status = await self._known.get(name)
        if status.verdict is LoginPermission.MAY_NOT:
            return status
        # JupyterHub remembers good news; remembered here, too, a closed account would stay longer.
        self._known.expire(name)
        if status.verdict is LoginPermission.UNKNOWN:
            self._silent_until_s = self._clock() + NO_ANSWER_AGE_S
            self._silence = status
        return status

    def forget(self, name: str) -> None:
        """Check again next time, as after a login with the right password."""
        self._known.expire(name)
