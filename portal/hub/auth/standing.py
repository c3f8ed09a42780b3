"""Whether somebody who logged in some time ago still may: asked again while they are here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

# Who was refused asks again with each request, and cured accounts come back soon.
REFUSAL_AGE_S = 60.0
# While nothing answers, only one in so many seconds waits for it.
NO_ANSWER_AGE_S = 30.0
_N_MOST_REMEMBERED = 10_000


class Verdict(Enum):
    """Whether an account still admits its owner."""

    MAY = "may log in"
    MAY_NOT = "may not log in"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What was found about an account.

    Attributes:
        verdict: Whether its owner may still log in.
        reason: Why not, or why it is not known, as a sentence for administrators.
        groups: UNIX groups of an account that may.
    """

    verdict: Verdict
    reason: str = ""
    groups: tuple[str, ...] = ()


class Standings:
    """Refusals and silence are remembered for a while; good news is JupyterHub's to remember.

    Args:
        ask: Looks at an account.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        ask: Callable[[str], Awaitable[Standing]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._refused: dict[str, tuple[float, Standing]] = {}
        self._silent_until_s = 0.0
        self._silence = Standing(verdict=Verdict.UNKNOWN)
        self._asking: dict[str, asyncio.Future[Standing]] = {}

    async def of(self, name: str) -> Standing:
        """Return the standing of a user, asked once however many requests want to know.

        Args:
            name: The user.

        Returns:
            What was found, a minute ago at most.
        """
        now_s = self._clock()
        refused_at_s, refusal = self._refused.get(name, (float("-inf"), self._silence))
        if now_s - refused_at_s <= REFUSAL_AGE_S:
            return refusal
        if now_s < self._silent_until_s:
            return self._silence
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.ensure_future(self._look(name))
        return await asyncio.shield(asking)

    def forget(self, name: str) -> None:
        """Look anew at the next question, as after a login with the right password.

        Args:
            name: The user.
        """
        self._refused.pop(name, None)

    async def _look(self, name: str) -> Standing:
        try:
            standing = await self._ask(name)
        finally:
            self._asking.pop(name, None)
        if standing.verdict is Verdict.MAY_NOT:
            if len(self._refused) >= _N_MOST_REMEMBERED:
                self._refused.clear()
            self._refused[name] = (self._clock(), standing)
        elif standing.verdict is Verdict.UNKNOWN:
            self._silent_until_s = self._clock() + NO_ANSWER_AGE_S
            self._silence = standing
        return standing
