"""When Horovod looks for gradients less often, and when it does not."""

import os

import pytest

from dsportal.frameworks.horovod_cycle import CycleTime, best_cycle_ms, may_choose


class Ranks:
    """Two ranks of a training, of which the other takes `other_s` for a step."""

    def __init__(self, other_s: float = 0.0) -> None:
        self.other_s = other_s
        self.n_restarts = 0
        self.now_s = 100.0

    def slowest(self, value: float) -> float:
        return max(value, self.other_s)

    def restart(self) -> None:
        self.n_restarts += 1

    def fit(self, *steps_s: float) -> None:
        cycle = CycleTime(self.slowest, self.restart, lambda: self.now_s)
        for step_s in steps_s:
            self.now_s += step_s
            cycle.note_step()


@pytest.fixture(autouse=True)
def five_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOROVOD_CYCLE_TIME", "5")


@pytest.mark.parametrize(
    ("step_s", "cycle_ms"), [(0.0, 5), (0.064, 5), (2.0, 20), (14.0, 53), (1e6, 100)]
)
def test_the_longer_a_step_the_longer_the_cycle_within_limits(step_s, cycle_ms):
    assert best_cycle_ms(step_s) == cycle_ms


def test_long_steps_get_a_longer_cycle_once():
    ranks = Ranks()

    ranks.fit(30, 14, 14, 14, 14)

    assert os.environ["HOROVOD_CYCLE_TIME"] == "53"
    assert ranks.n_restarts == 1


def test_the_first_step_does_not_count():
    ranks = Ranks()

    ranks.fit(30, 0.06, 0.06, 0.06)

    assert ranks.n_restarts == 0
    assert os.environ["HOROVOD_CYCLE_TIME"] == "5"


def test_a_gain_that_is_small_is_not_worth_a_restart():
    ranks = Ranks()

    ranks.fit(3, 1.5, 1.5)

    assert ranks.n_restarts == 0


def test_a_rank_decides_by_the_slowest():
    ranks = Ranks(other_s=14)

    ranks.fit(3, 0.1, 0.1)

    assert os.environ["HOROVOD_CYCLE_TIME"] == "53"
    assert ranks.n_restarts == 1


def test_a_small_model_after_a_large_one_gets_its_short_cycle_back():
    ranks = Ranks()

    ranks.fit(30, 14, 14)
    ranks.fit(3, 0.06, 0.06)

    assert os.environ["HOROVOD_CYCLE_TIME"] == "5"
    assert ranks.n_restarts == 2


@pytest.mark.parametrize("variable", ["HOROVOD_TIMELINE", "HOROVOD_AUTOTUNE"])
def test_what_horovod_measures_itself_is_not_disturbed(variable):
    chooses = {"HOROVOD_CYCLE_TIME": "5", "PORTAL_CHOOSES_HOROVOD_CYCLE": "1"}

    assert may_choose(chooses)
    assert not may_choose({**chooses, variable: "/tmp/timeline.json"})
    assert not may_choose({"HOROVOD_CYCLE_TIME": "5"})
