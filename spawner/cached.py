"""A single async value that concurrent callers share until it expires."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Cached(Generic[T]):
    """Caches the result of an async function.

    Args:
        read: Fetches the value.
        age_s: Seconds until the value expires.
        clock: Monotonic, in seconds.

    Attributes:
        latest: The last value, however old; None before the first.
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
        """Fetch again at the next `get`; `latest` stays."""
        self._read_at = float("-inf")

    async def get(self) -> T:
        """Return the value, at most `age_s` old.

        Raises:
            Exception: What `read` raised; the next call tries again.
        """
        if self.latest is not None and self._clock() - self._read_at <= self._age_s:
            return self.latest
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._read())
        # A cancelled caller must not cancel the request that the others wait for.
        answer = await asyncio.shield(self._reading)
        self.latest, self._read_at = answer, self._clock()
        return answer
