"""Wait for something to become true without guessing how long it takes; see that it stays so."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class _Attempts:
    """Counts the time and remembers how the last attempt failed."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.started_s = time.monotonic()
        self.n_attempts = 0
        self.error: Exception | None = None
        self.value: object = None

    def failed(self, *, value: object = None, error: Exception | None = None) -> None:
        """Remember a failure; raises where no time is left."""
        self.n_attempts += 1
        self.value, self.error = value, error
        waited_s = time.monotonic() - self.started_s
        if waited_s >= self.timeout_s:
            last = repr(self.value) if error is None else f"{type(error).__name__}: {error}"
            raise AssertionError(
                f"not true after {self.n_attempts} attempts in {waited_s:.1f} s; last: {last}"
            ) from error


def eventually(check: Callable[[], T], timeout_s: float, *, every_s: float = 0.1) -> T:
    """Call `check` until what it returns is true."""
    attempts = _Attempts(timeout_s)
    while True:
        try:
            value = check()
        except Exception as error:
            attempts.failed(error=error)
        else:
            if value:
                return value
            attempts.failed(value=value)
        time.sleep(every_s)


def throughout(check: Callable[[], object], for_s: float, *, every_s: float = 0.5) -> None:
    """Call `check` for a while; it has to return something true each time."""
    began_s = time.monotonic()
    while True:
        passed_s = time.monotonic() - began_s
        value = check()
        assert value, f"true no more after {passed_s:.1f} of {for_s} s: {value!r}"
        if passed_s >= for_s:
            return
        time.sleep(every_s)


async def eventually_async(
    check: Callable[[], Awaitable[T]], timeout_s: float, *, every_s: float = 0.1
) -> T:
    """Await `check` until what it returns is true; the arguments are those of `eventually`.

    Args:
        check: Called and awaited again while it raises or returns something false.
    """
    attempts = _Attempts(timeout_s)
    while True:
        try:
            value = await check()
        except Exception as error:
            attempts.failed(error=error)
        else:
            if value:
                return value
            attempts.failed(value=value)
        await asyncio.sleep(every_s)
