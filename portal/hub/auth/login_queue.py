"""Makes login attempts wait until their passwords may be checked."""

import asyncio

from portal.hub.auth.login_throttle import CheckResult, LoginAttempt, LoginThrottle

LONGEST_WAIT_S = 60.0


class LoginQueueFullError(Exception):
    """Too many attempts wait, so this one is not checked."""


class LoginQueue:
    """Lets attempts wait without blocking the hub."""

    def __init__(self, throttle: LoginThrottle) -> None:
        self.throttle = throttle
        self._login_queue: dict[LoginAttempt, asyncio.Future[None]] = {}
        self._next_check: asyncio.TimerHandle | None = None

    async def wait(self, attempt: LoginAttempt) -> None:
        """Wait until the password may be checked; the caller then has to call `finish`.

        Raises:
            LoginQueueFullError: If too many wait, or the wait exceeds LONGEST_WAIT_S.
            CancelledError: If the request is cancelled.
        """
        loop = asyncio.get_running_loop()
        # Before arrive(), which may refuse this very attempt.
        turn = self._login_queue[attempt] = loop.create_future()
        end = loop.call_later(LONGEST_WAIT_S, self._refuse, attempt)
        refused = self.throttle.arrive(attempt)
        if refused is not None:
            self._refuse(refused)
        self._start_next()
        try:
            await turn
        except asyncio.CancelledError:
            self._forget(attempt)
            raise
        finally:
            end.cancel()

    def finish(self, attempt: LoginAttempt, outcome: CheckResult) -> None:
        """Record the outcome of a check that `wait` allowed, and start the next ones."""
        self.throttle.finish(attempt, outcome)
        self._start_next()

    def _start_next(self) -> None:
        if self._next_check is not None:
            self._next_check.cancel()
            self._next_check = None
        for attempt in self.throttle.next_attempts():
            turn = self._login_queue.pop(attempt)
            # A request that was just cancelled gives its turn back itself, in `_forget`.
            if not turn.done():
                turn.set_result(None)
        after_s = self.throttle.next_check_s()
        if after_s is not None:
            loop = asyncio.get_running_loop()
            self._next_check = loop.call_later(after_s, self._start_next)

    def _refuse(self, attempt: LoginAttempt) -> None:
        self.throttle.leave(attempt)
        turn = self._login_queue.pop(attempt, None)
        if turn is not None and not turn.done():
            turn.set_exception(LoginQueueFullError())

    def _forget(self, attempt: LoginAttempt) -> None:
        if self._login_queue.pop(attempt, None) is not None:
            self.throttle.leave(attempt)
        else:
            # Its turn came just as the request was cancelled.
            self.finish(attempt, CheckResult.UNKNOWN)
