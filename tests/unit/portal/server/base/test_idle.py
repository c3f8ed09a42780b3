"""When a session counts as idle, with a clock of the test's own."""

from dataclasses import replace

import pytest

from portal.server.base.idle import (
    SAVE_S,
    IdleState,
    IdleView,
    IdleWatch,
    Observation,
    is_used,
)
from portal.settings.idle import IdleSettings
from tests.support.told import tables

POLICY = IdleSettings(after_minutes=10, warning_minutes=2, gpu_percent=5.0, cpu_percent=5.0)
STEP_S = 5


class SessionMonitor:
    """A session that nothing happens in unless a test says so."""

    def __init__(self, policy: IdleSettings = POLICY) -> None:
        self.now_s = 0.0
        self.watch = IdleWatch(policy, 0.0, save_s=30)
        self.nothing = Observation(
            now_s=0, gpu_percents=(0.0,), is_kernel_busy=False, programs_percent=0.5, input_s=0
        )

    def go_on(self, seconds: float, **seen: object) -> IdleState:
        """Let time pass, look every few seconds, and return the last state."""
        end_s = self.now_s + seconds
        state = IdleState.USED
        while self.now_s < end_s:
            self.now_s += STEP_S
            state = self.watch.look(replace(self.nothing, now_s=self.now_s, **seen))  # type: ignore[arg-type]
        return state


def test_a_session_that_nobody_uses_is_warned_then_saved_then_given_back() -> None:
    session = SessionMonitor()

    assert session.go_on(595) is IdleState.USED
    assert session.go_on(5) is IdleState.WARNED
    assert session.watch.view().ends_in_s == 150
    assert session.go_on(115) is IdleState.WARNED
    assert session.go_on(5) is IdleState.SAVING
    assert session.go_on(25) is IdleState.SAVING
    assert session.go_on(5) is IdleState.OVER


@pytest.mark.parametrize(
    "use",
    [
        {"is_kernel_busy": True},
        {"gpu_percents": (0.0, 40.0)},
        {"programs_percent": 90.0},
        {"programs_percent": None},
    ],
    ids=["a busy kernel", "a GPU", "a program", "CPU that cannot be measured"],
)
def test_whatever_computes_keeps_the_session_for_ever(use: dict[str, object]) -> None:
    session = SessionMonitor()

    assert session.go_on(10 * 3600, **use) is IdleState.USED


@pytest.mark.parametrize("after_minutes", [10, 0], ids=["too", "alone"])
def test_a_session_that_nobody_has_opened_is_given_back_sooner(after_minutes: int) -> None:
    session = SessionMonitor(replace(POLICY, after_minutes=after_minutes, unopened_minutes=5))
    # The first sample knows no CPU yet, and a start runs programs of its own.
    session.go_on(5, programs_percent=None)
    session.go_on(5, programs_percent=100)

    assert session.go_on(295) is IdleState.USED
    assert session.go_on(5) is IdleState.WARNED
    assert session.go_on(150) is IdleState.OVER


def test_one_that_somebody_has_opened_is_given_back_as_all_are() -> None:
    session = SessionMonitor(replace(POLICY, unopened_minutes=5))
    session.go_on(10, input_s=7)

    assert session.go_on(590, input_s=7) is IdleState.USED
    assert session.go_on(10, input_s=7) is IdleState.WARNED


def test_input_that_a_wrong_clock_puts_into_the_future_keeps_no_session_until_then() -> None:
    session = SessionMonitor()
    session.go_on(300, input_s=10 * 3600)

    assert session.watch.view().idle_s == 0
    assert session.go_on(600) is IdleState.WARNED


@pytest.mark.parametrize("idle_s", [600, 700, 730])
def test_a_kernel_that_begins_to_compute_at_the_last_moment_is_not_ended(idle_s: int) -> None:
    session = SessionMonitor()
    session.go_on(idle_s)

    assert session.go_on(5, is_kernel_busy=True) is IdleState.USED
    assert session.go_on(595) is IdleState.USED
    assert session.go_on(5) is IdleState.WARNED


def test_typing_during_the_warning_keeps_the_session() -> None:
    session = SessionMonitor()
    session.go_on(650)

    assert session.go_on(5, input_s=648.0) is IdleState.USED
    assert session.watch.view().ends_in_s is None


@pytest.mark.parametrize("gpus", [(), (None,), (None, 0.0)])
def test_a_gpu_whose_use_is_not_known_leaves_it_to_the_rest(
    gpus: tuple[float | None, ...],
) -> None:
    session = SessionMonitor()

    assert session.go_on(600, gpu_percents=gpus) is IdleState.WARNED
    assert session.go_on(5, gpu_percents=gpus, is_kernel_busy=True) is IdleState.USED


def test_one_short_burst_in_the_window_is_use() -> None:
    session = SessionMonitor()
    session.go_on(590)
    session.go_on(5, gpu_percents=(80.0,))

    assert session.go_on(590) is IdleState.USED


def test_the_policy_is_off_by_default() -> None:
    session = SessionMonitor(tables().idle)

    assert session.go_on(48 * 3600) is IdleState.USED


@pytest.mark.parametrize(
    ("seen", "is_in_use"),
    [
        ({}, False),
        ({"gpu_percents": (4.9, None)}, False),
        ({"gpu_percents": (None, 5.0)}, True),
        ({"programs_percent": 4.9}, False),
        ({"programs_percent": 5.0}, True),
        ({"gpu_percents": ()}, False),
    ],
    ids=str,
)
def test_what_is_at_its_limit_counts_as_used(seen: dict[str, object], is_in_use: bool) -> None:
    nothing = SessionMonitor().nothing

    assert is_used(POLICY, replace(nothing, **seen)) is is_in_use  # type: ignore[arg-type]


def test_pages_get_the_time_without_use_and_the_time_until_the_end() -> None:
    session = SessionMonitor()
    views = []
    for seconds in (100, 500, 60, 60, 10, 20, 20):
        session.go_on(seconds)
        views.append(session.watch.view())

    assert [(view.state, view.idle_s, view.ends_in_s) for view in views] == [
        (IdleState.USED, 100, None),
        (IdleState.WARNED, 600, 150),
        (IdleState.WARNED, 660, 90),
        (IdleState.SAVING, 720, 30),
        (IdleState.SAVING, 730, 20),
        (IdleState.OVER, 750, 30),
        (IdleState.OVER, 770, 10),
    ]


def test_tabs_have_no_longer_to_save_than_they_are_warned() -> None:
    policy = replace(POLICY, warning_minutes=1 / 3)
    watches = [IdleWatch(each, 0.0) for each in (POLICY, policy)]
    idle = replace(SessionMonitor().nothing, now_s=600)
    for watch in watches:
        watch.look(idle)

    assert [watch.view().ends_in_s for watch in watches] == [120 + SAVE_S, 20 + 20]


def test_a_session_that_is_kept_begins_anew() -> None:
    session = SessionMonitor()
    session.go_on(700)

    session.watch.keep(700.0)

    assert session.watch.view() == IdleView(state=IdleState.USED, idle_s=0, ends_in_s=None)
    assert session.go_on(595, input_s=0) is IdleState.USED
    assert session.go_on(5) is IdleState.WARNED
