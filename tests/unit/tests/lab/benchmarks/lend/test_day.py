"""What a simulated day of people and GPUs comes to."""

from dataclasses import replace

from portal.settings.idle import IdleSettings
from tests.lab.benchmarks.lend import day
from tests.lab.benchmarks.lend.day import (
    Cell,
    Person,
    draw_people,
    with_gpus_of_kernels,
    with_sessions_that_hold_gpus,
)

POLICY = IdleSettings(after_minutes=30, warning_minutes=15, gpu_percent=5.0, cpu_percent=5.0)
ONE_CELL = Person(4, 600.0, (Cell(600.0, 1200.0),))


def test_a_session_holds_gpus_all_day_and_a_kernel_up_to_the_sites_time_after_its_cell() -> None:
    without = with_sessions_that_hold_gpus([ONE_CELL])
    lent = with_gpus_of_kernels([ONE_CELL], POLICY)

    assert (without.held_h, lent.used_h, lent.n_asked) == (32.0, without.used_h, 1)
    # 20 minutes of the cell and 45 of the policy, looked at once a minute.
    assert 4 * 63 / 60 <= lent.held_h <= 4 * 66 / 60


def test_people_wait_for_gpus_that_others_hold_and_train_later() -> None:
    crowd = [ONE_CELL] * (day.N_GPUS // 4 + 1)

    lent = with_gpus_of_kernels(crowd, POLICY)

    assert 62 * 60 <= lent.longest_wait_s <= 66 * 60
    assert lent.used_h == with_sessions_that_hold_gpus(crowd).used_h


def test_who_never_trains_holds_nothing() -> None:
    people = draw_people(1, never_used_share=1.0)

    assert {person.cells for person in people} == {()}
    assert replace(with_gpus_of_kernels(people, POLICY), n_asked=0).held_h == 0
