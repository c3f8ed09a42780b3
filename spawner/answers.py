"""Slow answers, asked for once for everybody and remembered for a while."""

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
    """Answers to one kind of question, by what is asked about.

    Whoever asks waits no longer than they have patience; the question goes on without them, and
    whoever asks next finds its answer.

    Args:
        ask: Asks; may raise a PortalError, which is remembered too, for half a minute at most.
        fresh_s: Seconds for which an answer is given again.
        n_kept: Most answers that are remembered, 1 or more.
        clock: Seconds that only grow.
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
        """Return the answer, or an older one where asking takes too long.

        Args:
            key: What is asked about.
            patience_s: Seconds to wait at most.

        Returns:
            None where there has been no answer yet.

        Raises:
            PortalError: What went wrong when it was asked for.
        """
        until_s, known = self._known.get(key, (0.0, None))
        if known is None or self._clock() >= until_s:
            done, _ = await asyncio.wait({self._asked(key)}, timeout=patience_s)
            known = done.pop().result() if done else known
        if isinstance(known, PortalError):
            raise known
        return known

    def forget(self, is_meant: Callable[[Key], bool]) -> None:
        """Have some answers asked for anew the next time.

        Args:
            is_meant: Says of what was asked about whether its answer is forgotten.
        """
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
        self._known.pop(key, None)
        while len(self._known) >= self._n_kept:
            del self._known[next(iter(self._known))]
        self._known[key] = (self._clock() + fresh_s, answer)
        return answer
