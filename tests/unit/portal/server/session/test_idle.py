"""When a session counts as idle, with a clock of the test's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from portal.server.session.idle import IdlePolicy, IdleState, IdleWatch, Observation
from spawner.session_settings import SessionSettings

POLICY = IdlePolicy(after_s=600, warning_s=120, gpu_percent=5.0, cpu_percent=5.0, save_s=30)
STEP_S = 5


class SessionMonitor:
    """A session that nothing happens in unless a test says so."""

    def __init__(self, policy: IdlePolicy = POLICY) -> None:
        self.now_s = 0.0
        self.watch = IdleWatch(policy, 0.0)
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


def test_the_button_keeps_the_session() -> None:
    session = SessionMonitor()
    session.go_on(650)

    session.watch.keep(session.now_s)

    assert session.go_on(595) is IdleState.USED


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
    session = SessionMonitor(IdlePolicy.of(SessionSettings()))

    assert session.go_on(48 * 3600) is IdleState.USED
