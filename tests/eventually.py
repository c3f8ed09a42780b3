"""Wait for something to become true, without guessing how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_INTERVAL_S = 0.05


def eventually(check: Callable[[], T], *, timeout_s: float) -> T:
    """Call `check` until what it returns is true.

    Args:
        check: Asked again while it returns something false, or raises.
        timeout_s: How long.

    Returns:
        The first true value.

    Raises:
        AssertionError: If none came in time: with the last value or error.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        error: Exception | None = None
        value = None
        try:
            value = check()
            if value:
                return value
        except Exception as raised:
            error = raised
        if time.monotonic() > deadline:
            last = repr(error) if error is not None else repr(value)
            raise AssertionError(f"not within {timeout_s:g} s; last: {last}") from error
        time.sleep(_INTERVAL_S)
