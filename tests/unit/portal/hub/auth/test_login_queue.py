"""Attempts that wait for their turn, and those that nobody waits for any more."""

import asyncio

import pytest

from portal.hub.auth import login_queue as module
from portal.hub.auth.login_queue import LoginQueue, LoginQueueFullError
from portal.hub.auth.login_throttle import PER_NAME, CheckResult, LoginAttempt, LoginThrottle


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

    turns.finish(taken[0], CheckResult.RIGHT)

    await asyncio.wait_for(waiting, timeout=30)


async def test_who_waits_no_longer_takes_no_turn_from_others() -> None:
    turns, taken = await busy_turns()
    gone = asyncio.create_task(turns.wait(attempt()))
    await asyncio.sleep(0)

    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    turns.finish(taken[0], CheckResult.RIGHT)

    assert gone.cancelled()
    await turns.wait(attempt())


async def test_who_leaves_when_the_turn_has_just_come_gives_it_back() -> None:
    turns, taken = await busy_turns()
    gone = asyncio.create_task(turns.wait(attempt()))
    await asyncio.sleep(0)

    turns.finish(taken[0], CheckResult.RIGHT)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)

    assert gone.cancelled()
    await turns.wait(attempt())


async def test_a_turn_that_comes_to_one_who_is_just_leaving_is_given_back() -> None:
    turns, taken = await busy_turns()
    gone = asyncio.create_task(turns.wait(attempt()))
    await asyncio.sleep(0)

    gone.cancel()
    turns.finish(taken[0], CheckResult.RIGHT)
    await asyncio.gather(gone, return_exceptions=True)

    assert gone.cancelled()
    await asyncio.wait_for(turns.wait(attempt()), timeout=30)


async def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, _ = await busy_turns()
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 0.01)

    with pytest.raises(LoginQueueFullError):
        await turns.wait(attempt())


class StandInThrottle(LoginThrottle):
    """Lets the test say whose turn it is."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: LoginAttempt | None = None
        self.next: list[LoginAttempt] = []
        self.pauses_s: list[float] = []
        self.left: list[LoginAttempt] = []
        self.n_looks = 0

    def arrive(self, attempt: LoginAttempt) -> LoginAttempt | None:
        return self.refused

    def next_attempts(self) -> list[LoginAttempt]:
        self.n_looks += 1
        found, self.next = self.next, []
        return found

    def next_check_s(self) -> float | None:
        return self.pauses_s.pop(0) if self.pauses_s else None

    def leave(self, attempt: LoginAttempt) -> None:
        self.left.append(attempt)


async def test_when_too_many_wait_the_one_that_the_throttle_names_is_refused() -> None:
    throttle = StandInThrottle()
    queue = LoginQueue(throttle)
    first, second = attempt(), attempt()
    waiting = asyncio.create_task(queue.wait(first))
    await asyncio.sleep(0)
    throttle.refused, throttle.next = first, [second]

    await asyncio.wait_for(queue.wait(second), 10)

    with pytest.raises(LoginQueueFullError):
        await asyncio.wait_for(waiting, 10)
    assert throttle.left == [first]


async def test_a_turn_that_has_to_be_spaced_out_comes_by_itself() -> None:
    throttle = StandInThrottle()
    queue = LoginQueue(throttle)
    one = attempt()
    throttle.pauses_s = [0.01]
    waiting = asyncio.create_task(queue.wait(one))
    await asyncio.sleep(0)
    assert throttle.n_looks == 1
    throttle.next = [one]

    await asyncio.wait_for(waiting, 10)

    assert throttle.n_looks == 2


async def test_of_several_looks_to_come_only_the_last_is_taken() -> None:
    throttle = StandInThrottle()
    queue = LoginQueue(throttle)
    first, second = attempt(), attempt()
    throttle.pauses_s = [0.01, 0.02]
    waiting = [asyncio.create_task(queue.wait(one)) for one in (first, second)]
    await asyncio.sleep(0)
    assert throttle.n_looks == 2
    throttle.next = [first, second]

    await asyncio.wait_for(asyncio.gather(*waiting), 10)

    assert throttle.n_looks == 3


async def test_who_leaves_is_forgotten_by_the_throttle() -> None:
    throttle = StandInThrottle()
    queue = LoginQueue(throttle)
    one = attempt()
    waiting = asyncio.create_task(queue.wait(one))
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert throttle.left == [one]


async def test_an_outcome_reaches_the_throttle() -> None:
    queue, taken = await busy_turns()

    queue.finish(taken[0], CheckResult.WRONG)

    assert queue.throttle._n_wrong(taken[0].pair) == 1
