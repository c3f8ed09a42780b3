"""An answer that is asked for once and then shared for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Cached(Generic[T]):
    """One question, asked once however many want to know.

    Args:
        read: Asks.
        age_s: Seconds for which an answer is used again.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[T]],
        *,
        age_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._age_s = age_s
        self._clock = clock
        self._read_at = float("-inf")
        self._reading: asyncio.Future[T] | None = None
        self.latest: T | None = None

    def expire(self) -> None:
        """Ask anew at the next question; `latest` stays."""
        self._read_at = float("-inf")

    async def get(self) -> T:
        """Return the answer, asked `age_s` ago at most.

        Returns:
            What `read` returned.

        Raises:
            Exception: What `read` raised; the next call asks again.
        """
        if self.latest is not None and self._clock() - self._read_at <= self._age_s:
            return self.latest
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._read())
        # One reader that goes away must not take the answer from the others.
        answer = await asyncio.shield(self._reading)
        self.latest, self._read_at = answer, self._clock()
        return answer
