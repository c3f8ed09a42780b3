"""Calls that come again and again."""

import asyncio
import itertools
import logging
import time

import pytest

from portal.server.base.periodic import PeriodicCall
from tests.support.eventually import eventually_async


class Calls:
    """Counts calls; the first ones fail."""

    def __init__(self, n_failures: int = 0) -> None:
        self.n = 0
        self._n_failures = n_failures

    async def call(self) -> None:
        self.n += 1
        if self.n <= self._n_failures:
            raise ValueError("odd")

    async def came(self) -> bool:
        """Return whether a few have come."""
        return self.n > 3


async def test_a_clock_that_is_set_back_delays_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, now_s = Calls(), time.time()
    periodic = PeriodicCall(calls.call, 0.01)
    periodic.start()
    hours_back = (now_s - 3600 * n for n in itertools.count())
    monkeypatch.setattr(time, "time", lambda: next(hours_back))

    await eventually_async(calls.came, timeout_s=10)

    await periodic.stop()


async def test_a_call_that_fails_is_logged_and_followed_by_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls = Calls(n_failures=1)
    periodic = PeriodicCall(calls.call, 0.01)
    periodic.start()

    with caplog.at_level(logging.ERROR):
        await eventually_async(calls.came, timeout_s=10)

    await periodic.stop()
    assert "Calls.call failed" in caplog.text


async def test_the_call_under_way_is_cancelled_at_the_end() -> None:
    is_under_way = asyncio.Event()

    async def call() -> None:
        is_under_way.set()
        await asyncio.sleep(3600)

    periodic = PeriodicCall(call, 0.01)
    periodic.start()
    await is_under_way.wait()

    await asyncio.wait_for(periodic.stop(), timeout=10)
