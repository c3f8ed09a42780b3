"""Answers that are asked for once and shared."""

from __future__ import annotations

import asyncio

import pytest

from spawner.cached import Cached
from spawner.errors import SlurmUnavailableError


class Source:
    """Answers 1, 2, 3 … as often as it is asked."""

    def __init__(self) -> None:
        self.n_asked = 0
        self.is_down = False

    async def read(self) -> int:
        self.n_asked += 1
        await asyncio.sleep(0)
        if self.is_down:
            raise SlurmUnavailableError("no answer")
        return self.n_asked


async def test_many_who_ask_at_once_and_soon_after_share_one_answer() -> None:
    now = [100.0]
    source = Source()
    cached = Cached(source.read, age_s=5, clock=lambda: now[0])

    assert set(await asyncio.gather(*(cached.get() for _ in range(50)))) == {1}
    now[0] += 5
    assert await cached.get() == 1
    now[0] += 1
    assert await cached.get() == 2


async def test_an_answer_that_has_expired_is_asked_for_again() -> None:
    source = Source()
    cached = Cached(source.read, age_s=1000)
    assert await cached.get() == 1

    cached.expire()

    assert cached.latest == 1
    assert await cached.get() == 2


async def test_a_failure_is_told_and_not_kept_while_the_last_answer_is() -> None:
    now = [100.0]
    source = Source()
    cached = Cached(source.read, age_s=5, clock=lambda: now[0])
    await cached.get()
    now[0], source.is_down = 200.0, True

    with pytest.raises(SlurmUnavailableError):
        await cached.get()

    assert cached.latest == 1
    source.is_down = False
    assert await cached.get() == 3


async def test_one_who_goes_away_does_not_take_the_answer_from_others() -> None:
    source = Source()
    cached = Cached(source.read, age_s=5)
    first = asyncio.ensure_future(cached.get())
    second = asyncio.ensure_future(cached.get())
    await asyncio.sleep(0)

    first.cancel()

    assert await second == 1
