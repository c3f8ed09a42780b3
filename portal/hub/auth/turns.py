"""Makes login attempts wait until their passwords may be checked."""

from __future__ import annotations

import asyncio

from portal.hub.auth.guessing import Attempt, Guessing, Outcome

LONGEST_WAIT_S = 60.0


class NoTurnError(Exception):
    """Too many attempts wait, so this one is not checked."""


class Turns:
    """Lets attempts wait without blocking the hub."""

    def __init__(self, guessing: Guessing) -> None:
        self.guessing = guessing
        self._turns: dict[Attempt, asyncio.Future[None]] = {}
        self._next_look: asyncio.TimerHandle | None = None

    async def wait(self, attempt: Attempt) -> None:
        """Wait until the password may be checked; the caller then has to call `finish`.

        Raises:
            NoTurnError: If too many wait, or the wait exceeds LONGEST_WAIT_S.
            CancelledError: If the request is cancelled.
        """
        loop = asyncio.get_running_loop()
        turn = self._turns[attempt] = loop.create_future()
        end = loop.call_later(LONGEST_WAIT_S, self._refuse, attempt)
        refused = self.guessing.arrive(attempt)
        if refused is not None:
            self._refuse(refused)
        self._look()
        try:
            await turn
        except asyncio.CancelledError:
            self._forget(attempt)
            raise
        finally:
            end.cancel()

    def finish(self, attempt: Attempt, outcome: Outcome) -> None:
        """Record the outcome of a check that `wait` allowed, and start the next ones."""
        self.guessing.finish(attempt, outcome)
        self._look()

    def _look(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        for attempt in self.guessing.next_turns():
            self._turns.pop(attempt).set_result(None)
        after_s = self.guessing.next_look_s()
        if after_s is not None:
            loop = asyncio.get_running_loop()
            self._next_look = loop.call_later(after_s, self._look)

    def _refuse(self, attempt: Attempt) -> None:
        self.guessing.leave(attempt)
        turn = self._turns.pop(attempt, None)
        if turn is not None and not turn.done():
            turn.set_exception(NoTurnError())

    def _forget(self, attempt: Attempt) -> None:
        if self._turns.pop(attempt, None) is not None:
            self.guessing.leave(attempt)
        else:
            # Its turn came just as the request was cancelled.
            self.finish(attempt, Outcome.UNKNOWN)
