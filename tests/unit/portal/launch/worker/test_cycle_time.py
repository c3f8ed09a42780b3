"""Horovod's cycle time follows the length of the first steps."""

from __future__ import annotations

import itertools

import pytest

from portal.launch.task.environment import CHOOSE_CYCLE_VARIABLE
from portal.launch.worker.cycle_time import N_STEPS_SEEN, N_WARMUP_STEPS, CycleTimeChoice

N_STEPS = N_WARMUP_STEPS + N_STEPS_SEEN + 1


def train(steps_s, environ, *, average=lambda step_s: step_s):
    """Return how often Horovod was started again in steps of these seconds."""
    starts = []
    moments = itertools.accumulate(steps_s, initial=0.0)
    choice = CycleTimeChoice(environ, clock=lambda: next(moments))
    for _ in range(len(steps_s) + 1):
        choice.begin_step(average, lambda: starts.append(environ["HOROVOD_CYCLE_TIME"]))
    return starts


def rank_environ():
    return {"HOROVOD_CYCLE_TIME": "5", CHOOSE_CYCLE_VARIABLE: "1"}


@pytest.mark.parametrize(
    ("step_s", "starts"), [(0.05, []), (0.9, []), (1.0, ["20"]), (9.0, ["20"])]
)
def test_long_steps_get_a_longer_cycle_once(step_s, starts):
    environ = rank_environ()

    assert train([step_s] * (3 * N_STEPS), environ) == starts
    assert CHOOSE_CYCLE_VARIABLE not in environ


def test_a_slow_beginning_is_no_long_step():
    assert train([30.0, 8.0, 0.1, 0.1, 0.1, 0.1], rank_environ()) == []


def test_all_ranks_choose_by_the_same_average():
    assert train([0.5] * N_STEPS, rank_environ(), average=lambda _: 1.5) == ["20"]


def test_a_training_of_few_steps_keeps_its_cycle_and_its_choice():
    environ = rank_environ()

    assert train([2.0] * (N_STEPS - 2), environ) == []
    assert CHOOSE_CYCLE_VARIABLE in environ


def test_the_choice_of_the_user_stays():
    environ = {"HOROVOD_CYCLE_TIME": "7"}

    assert train([2.0] * N_STEPS, environ) == []
    assert environ == {"HOROVOD_CYCLE_TIME": "7"}
