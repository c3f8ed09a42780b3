"""A figure of several rounds says its median and how far the rounds were apart."""

from tests.lab.benchmarks.report import Spread
from tests.lab.benchmarks.rounds import Rounds, p95

OURS = Rounds([1.0, 4.0, 2.0])


def test_the_figure_is_the_median_beside_the_least_and_the_most() -> None:
    assert OURS.median == 2.0
    assert OURS.spread == Spread(least=1.0, most=4.0, rounds=3)
    assert OURS.text == "2.0 (1.0 to 4.0)"


def test_a_ratio_is_taken_round_by_round_since_the_machine_changes_between_them() -> None:
    assert OURS.over(Rounds([2.0, 4.0, 8.0])) == Rounds([0.5, 1.0, 0.25], 2)


def test_the_slowest_of_twenty_hardly_moves_the_95th_percentile() -> None:
    assert p95([*range(1, 20), 1000]) < 70
    assert p95([7, 7]) == 7
