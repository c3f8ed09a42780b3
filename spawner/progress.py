"""What the page shows while a session starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

# A long wait in the queue changes its reason often; the page needs only the latest ones.
_MOST_STEPS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of the page.

    Attributes:
        name: "submitted", "queued", "running", "starting" or "ready".
        percent: Length of the bar, 0..100.
        message: A sentence.
    """

    name: str
    percent: int
    message: str


class Progress:
    """The steps of one start, for any number of readers who come and go."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._n_dropped = 0
        self._is_finished = False
        self._changed = asyncio.Event()

    def tell(self, name: str, percent: int, message: str) -> None:
        """Add a step, unless it says the same as the last one.

        Args:
            name: See `Step`.
            percent: 0..100.
            message: A sentence.
        """
        step = Step(name=name, percent=percent, message=message)
        if self._steps and self._steps[-1] == step:
            return
        self._steps.append(step)
        if len(self._steps) > _MOST_STEPS:
            del self._steps[1]
            self._n_dropped += 1
        self._wake()

    def finish(self) -> None:
        """Let every reader end."""
        self._is_finished = True
        self._wake()

    async def steps(self) -> AsyncIterator[Step]:
        """Yield every step so far, then each new one until the start has ended.

        Yields:
            Steps in their order.
        """
        n_seen = 0
        while True:
            changed = self._changed
            n_seen = max(n_seen, self._n_dropped)
            for step in self._steps[n_seen - self._n_dropped :]:
                n_seen += 1
                yield step
            if self._is_finished:
                return
            await changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
