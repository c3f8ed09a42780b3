"""A figure that misses its aim is not like the others."""

from tests.lab.benchmarks.aims import Aim, Bound, aims_of, missed


def test_a_figure_that_misses_its_aim_says_so_and_one_at_the_aim_does_not() -> None:
    assert Aim(Bound.AT_MOST, 1.1).words(1.11) == "at most 1.1: **missed**"
    assert Aim(Bound.AT_MOST, 1.1).words(1.1) == "at most 1.1"
    assert Aim(Bound.AT_LEAST, 5).words(4.9) == "at least 5: **missed**"


def test_what_misses_is_named_with_its_value_and_aim() -> None:
    figures = {"start_vs_bare": 1.12, "start_vs_stock": 0.4, "take_up_s_at_1000": 2.0}

    assert missed("spawner", figures) == {"start_vs_bare": "1.12, at most 1.1"}


def test_two_ranks_need_not_be_faster_than_two_trainings_by_themselves() -> None:
    bound = {"speedup_bound_inceptionv3": 1.6, "speedup_2_ranks_inceptionv3": 1.56}

    (aim,) = aims_of("speedup", bound).values()
    assert aim.value == 1.55
    assert missed("speedup", bound) == {}
