"""A history of bounded length."""

import pytest

from portal.server.base.resource_usage import ThinnedHistory


def test_what_fits_is_kept_as_it_is() -> None:
    history = kept(0, 1, 2)

    assert history.values() == [0, 1, 2]


def test_a_full_history_holds_averages_of_equally_long_times() -> None:
    history = kept(*range(8), n_most=4)

    assert history.values() == [1.5, 5.5]


def test_the_newest_values_are_there_before_they_make_an_average() -> None:
    history = kept(*range(11), n_most=4)

    assert history.values() == [1.5, 5.5, 8.5, 10]


@pytest.mark.parametrize("n_values", [1, 479, 480, 481, 5760, 60480])
def test_it_stays_bounded_in_order_and_true_on_average(n_values: int) -> None:
    history = kept(*range(n_values), n_most=480)

    values = history.values()

    assert 1 <= len(values) < 480 + 20
    assert values == sorted(values)
    assert values[0] <= n_values / 100
    assert values[-1] >= n_values * 0.95 - 1


def kept(*values: float, n_most: int = 4) -> ThinnedHistory[float]:
    history: ThinnedHistory[float] = ThinnedHistory(lambda a, b: (a + b) / 2, n_most=n_most)
    for value in values:
        history.append(value)
    return history
