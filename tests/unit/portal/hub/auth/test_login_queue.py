"""Attempts that wait for their turn, and those that nobody waits for any more."""

from __future__ import annotations

import asyncio

import pytest

from portal.hub.auth import login_queue as module
from portal.hub.auth.login_queue import LoginQueue, LoginQueueFullError
from portal.hub.auth.login_throttle import PER_NAME, LoginAttempt, LoginThrottle, Outcome


def attempt() -> LoginAttempt:
    return LoginAttempt(name="ada", address="192.0.2.7")


async def busy_turns() -> tuple[LoginQueue, list[LoginAttempt]]:
    """Return turns of which all that are free are taken, and who took them."""
    turns = LoginQueue(LoginThrottle())
    taken = [attempt() for _ in range(PER_NAME.n_free)]
    for one in taken:
        await turns.wait(one)
    return turns, taken


async def test_the_next_has_its_turn_when_one_has_finished() -> None:
    turns, taken = await busy_turns()
    waiting = asyncio.create_task(turns.wait(attempt()))
    await asyncio.sleep(0)
    assert not waiting.done()

    turns.finish(taken[0], Outcome.RIGHT)

    await asyncio.wait_for(waiting, timeout=30)


async def test_who_waits_no_longer_takes_no_turn_from_others() -> None:
    turns, taken = await busy_turns()
    gone = asyncio.create_task(turns.wait(attempt()))
    await asyncio.sleep(0)

    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    turns.finish(taken[0], Outcome.RIGHT)

    assert gone.cancelled()
    await turns.wait(attempt())


async def test_who_leaves_when_the_turn_has_just_come_gives_it_back() -> None:
    turns, taken = await busy_turns()
    gone = asyncio.create_task(turns.wait(attempt()))
    await asyncio.sleep(0)

    turns.finish(taken[0], Outcome.RIGHT)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)

    assert gone.cancelled()
    await turns.wait(attempt())


async def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, _ = await busy_turns()
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 0.01)

    with pytest.raises(LoginQueueFullError):
        await turns.wait(attempt())
