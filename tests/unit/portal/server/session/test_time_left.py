"""The time left: from the job, from the hub, and while the hub is away."""

import asyncio
import runpy
import time
from typing import Any

import pytest

from portal.server.base.hub_api import HubError
from portal.server.session import time_left
from portal.server.session.time_left import (
    ANSWER_AGE_S,
    NEAR_ANSWER_AGE_S,
    SessionClock,
    find_end,
)
from tests.support.told import told


class FakeHub:
    """A hub that answers what a test says."""

    def __init__(self) -> None:
        self.left_s: float | None = 600
        self.is_away = False
        self.n_asked = 0
        self.asked = asyncio.Event()
        self.notices: list[str] = []
        self.answer_after: asyncio.Event | None = None

    async def read_session(self) -> dict[str, Any]:
        self.n_asked += 1
        self.asked.set()
        if self.is_away:
            raise HubError("away", http_status=503)
        extension = {"step_s": 3600, "n_left": 1}
        answer = {"left_s": self.left_s, "extension": extension, "notices": self.notices}
        if self.answer_after is not None:
            await self.answer_after.wait()
        return answer

    async def extend(self) -> dict[str, Any]:
        return {"left_s": 4200, "extension": {"step_s": 0, "n_left": 0}}


@pytest.mark.parametrize(
    ("environment", "end_s"),
    [
        ({"SLURM_JOB_END_TIME": "5000", "PORTAL_WALLTIME_S": "60"}, 5000),
        ({"SLURM_JOB_START_TIME": "1000", "PORTAL_WALLTIME_S": "60"}, 1060),
        ({"PORTAL_WALLTIME_S": "60"}, 2060),
        ({"PORTAL_WALLTIME_S": "60", "SLURM_JOB_START_TIME": "soon"}, 2060),
        ({"PORTAL_WALLTIME_S": "60", "SLURM_JOB_END_TIME": "0"}, 2060),
        ({"SLURM_JOB_START_TIME": "1000"}, None),
        ({"PORTAL_WALLTIME_S": "x"}, None),
        ({}, None),
    ],
)
def test_the_job_itself_knows_its_end(environment: dict[str, str], end_s: float | None) -> None:
    assert find_end(environment, 2000) == end_s


@pytest.mark.parametrize("jump_s", [-7200, 7200])
async def test_a_clock_of_the_node_that_is_set_changes_no_time_left(
    monkeypatch: pytest.MonkeyPatch, jump_s: int
) -> None:
    hub, unix_s = FakeHub(), [time.time()]
    hub.is_away = True
    monkeypatch.setattr(time, "time", lambda: unix_s[0])
    # Again, for a module keeps the clock that it was loaded with.
    fresh = runpy.run_path(time_left.__file__, run_name="fresh")
    clock = fresh["SessionClock"](hub, {"PORTAL_WALLTIME_S": "36000"})

    unix_s[0] += jump_s

    left_s = (await clock.read()).left_s
    assert left_s is not None
    assert 36000 - 60 < left_s <= 36000


async def test_the_hubs_word_counts_and_follows_changes() -> None:
    hub, now_s = FakeHub(), [0.0]
    clock = SessionClock(hub, {"PORTAL_WALLTIME_S": "60"}, now=lambda: now_s[0])
    first = await clock.read()
    hub.left_s, now_s[0] = 100, NEAR_ANSWER_AGE_S
    second = await clock.read()

    assert (first.left_s, second.left_s) == (600, 100)
    assert (second.step_s, second.n_left) == (3600, 1)


async def test_many_tabs_ask_the_hub_once() -> None:
    hub = FakeHub()
    clock = SessionClock(hub, {}, now=lambda: 1000.0)

    for _ in range(20):
        await clock.read()

    assert hub.n_asked == 1


async def test_the_hub_is_asked_seldom_while_the_end_is_far() -> None:
    hub, now_s = FakeHub(), [0.0]
    hub.left_s = 8 * 3600
    clock = SessionClock(hub, told(clock={"warnings_minutes": [30]}), now=lambda: now_s[0])
    await clock.read()

    now_s[0] = NEAR_ANSWER_AGE_S
    await clock.read()
    assert hub.n_asked == 1
    now_s[0] = ANSWER_AGE_S
    await clock.read()
    assert hub.n_asked == 2


async def test_while_the_hub_is_away_the_clock_goes_on() -> None:
    hub, now_s = FakeHub(), [0.0]
    clock = SessionClock(hub, {}, now=lambda: now_s[0])
    await clock.read()
    hub.is_away, now_s[0] = True, 60.0

    assert (await clock.read()).left_s == 540


async def test_a_hub_that_is_away_is_asked_no_more_often_than_one_that_answers() -> None:
    hub, now_s = FakeHub(), [0.0]
    hub.is_away = True
    clock = SessionClock(hub, {"PORTAL_WALLTIME_S": "36000"}, now=lambda: now_s[0])

    for _ in range(20):
        await clock.read()
    assert hub.n_asked == 1
    now_s[0] = ANSWER_AGE_S
    await clock.read()
    assert hub.n_asked == 2


async def test_an_answer_that_was_asked_for_before_an_extension_does_not_undo_it() -> None:
    hub = FakeHub()
    hub.answer_after = asyncio.Event()
    clock = SessionClock(hub, {}, now=lambda: 0.0)
    tab = asyncio.ensure_future(clock.read())
    await hub.asked.wait()

    assert (await clock.extend()).left_s == 4200
    hub.answer_after.set()

    assert (await tab).left_s == 4200
    assert (await clock.read()).n_left == 0


async def test_what_the_hub_announces_stays_while_the_hub_is_away() -> None:
    hub, now_s = FakeHub(), [0.0]
    clock = SessionClock(hub, {"PORTAL_WALLTIME_S": "60"}, now=lambda: now_s[0])
    hub.notices = ["New disks until noon."]
    await clock.read()
    hub.is_away, now_s[0] = True, ANSWER_AGE_S
    await clock.read()
    assert clock.notices == ("New disks until noon.",)

    hub.is_away, now_s[0], hub.notices = False, 2 * ANSWER_AGE_S, []
    await clock.read()
    assert clock.notices == ()


async def test_before_the_hubs_first_answer_nothing_can_be_extended() -> None:
    hub = FakeHub()
    hub.is_away = True
    clock = SessionClock(hub, {"PORTAL_WALLTIME_S": "60"}, now=lambda: 0.0)

    left = await clock.read()

    assert (left.left_s, left.step_s, left.n_left) == (60, 0, 0)
    assert clock.notices == ()


async def test_an_answer_may_leave_out_what_has_not_changed() -> None:
    hub, now_s = FakeHub(), [0.0]
    hub.notices = ["New disks until noon."]
    clock = SessionClock(hub, {}, now=lambda: now_s[0])
    await clock.read()

    async def says_little() -> dict[str, Any]:
        return {"left_s": None}

    hub.read_session = says_little  # type: ignore[method-assign]
    now_s[0] = ANSWER_AGE_S
    left = await clock.read()

    assert (left.left_s, left.step_s, left.n_left) == (540, 3600, 1)
    assert clock.notices == ("New disks until noon.",)


async def test_the_time_left_ends_at_zero() -> None:
    hub, now_s = FakeHub(), [0.0]
    clock = SessionClock(hub, {}, now=lambda: now_s[0])
    await clock.read()
    hub.is_away, now_s[0] = True, 601.0

    assert (await clock.read()).left_s == 0


@pytest.mark.parametrize(("left_s", "n_asked"), [(2415, 2), (2416, 1)])
async def test_ten_minutes_before_the_first_warning_the_hub_is_asked_more_often(
    left_s: int, n_asked: int
) -> None:
    hub, now_s = FakeHub(), [0.0]
    hub.left_s = left_s
    clock = SessionClock(hub, told(clock={"warnings_minutes": [30]}), now=lambda: now_s[0])
    await clock.read()

    now_s[0] = NEAR_ANSWER_AGE_S
    await clock.read()

    assert hub.n_asked == n_asked


async def test_a_session_without_a_limit_asks_seldom() -> None:
    hub, now_s = FakeHub(), [0.0]
    hub.left_s = None
    clock = SessionClock(hub, {}, now=lambda: now_s[0])
    assert (await clock.read()).left_s is None

    now_s[0] = NEAR_ANSWER_AGE_S
    await clock.read()

    assert hub.n_asked == 1


async def test_a_tab_that_closes_cancels_the_question_for_no_other() -> None:
    hub = FakeHub()
    hub.answer_after = asyncio.Event()
    clock = SessionClock(hub, {}, now=lambda: 0.0)
    tabs = [asyncio.ensure_future(clock.read()) for _ in range(2)]
    await hub.asked.wait()

    tabs[0].cancel()
    await asyncio.wait([tabs[0]])
    hub.answer_after.set()

    assert (await tabs[1]).left_s == 600
    assert hub.n_asked == 1
