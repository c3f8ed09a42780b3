"""A keyed async cache: concurrent callers share one request; answers expire."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from spawner.errors import PortalError

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_LONGEST_FAILURE_S = 30.0


class Answers(Generic[Key, Value]):
    """Caches the answers of an async function by key, failures too.

    A caller waits only as long as its patience lasts; the request continues without it, and the
    next caller finds the answer.

    Args:
        ask: May raise a PortalError, which is remembered too, for half a minute at most.
        fresh_s: Seconds until an answer expires.
        n_kept: Most answers that are remembered, 1 or more; the oldest go first.
        clock: Monotonic, in seconds.
    """

    def __init__(
        self,
        ask: Callable[[Key], Awaitable[Value]],
        *,
        fresh_s: float,
        n_kept: int = 2000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._fresh_s = fresh_s
        self._n_kept = n_kept
        self._clock = clock
        self._known: dict[Key, tuple[float, Value | PortalError]] = {}
        self._asking: dict[Key, asyncio.Task[Value | PortalError]] = {}

    async def read(self, key: Key, *, patience_s: float) -> Value | None:
        """Return the answer, or an expired one if asking takes longer than `patience_s`.

        Returns:
            None if there has been no answer yet.

        Raises:
            PortalError: What the last request raised.
        """
        until_s, known = self._known.get(key, (0.0, None))
        if known is None or self._clock() >= until_s:
            done, _ = await asyncio.wait({self._asked(key)}, timeout=patience_s)
            known = done.pop().result() if done else known
        if isinstance(known, PortalError):
            raise known
        return known

    def forget(self, is_meant: Callable[[Key], bool]) -> None:
        """Drop the answers whose key `is_meant` picks; the next reader asks again."""
        self._known = {key: known for key, known in self._known.items() if not is_meant(key)}

    def _asked(self, key: Key) -> asyncio.Task[Value | PortalError]:
        task = self._asking.get(key)
        if task is None:
            task = asyncio.ensure_future(self._ask_and_keep(key))
            self._asking[key] = task
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        return task

    async def _ask_and_keep(self, key: Key) -> Value | PortalError:
        answer: Value | PortalError
        fresh_s = self._fresh_s
        try:
            answer = await self._ask(key)
        except PortalError as error:
            answer, fresh_s = error, min(fresh_s, _LONGEST_FAILURE_S)
        # An update in place would keep the old position, and the first entries are dropped.
        self._known.pop(key, None)
        while len(self._known) >= self._n_kept:
            del self._known[next(iter(self._known))]
        self._known[key] = (self._clock() + fresh_s, answer)
        return answer
