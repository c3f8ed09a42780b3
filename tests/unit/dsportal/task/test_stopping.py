import math

import pytest

from dsportal.task.stopping import MedianStopping

# At 50 % the median of the others is 3.
OTHERS = [{0: 9.0, 50: loss} for loss in (1.0, 2.0, 3.0, 4.0, 5.0)]


@pytest.mark.parametrize(
    ("own", "is_worst"),
    [
        ({0: 9.0, 50: 3.5}, True),
        ({0: 9.0, 50: 3.0}, False),
        # Its best counts, not its last.
        ({0: 2.0, 50: 8.0}, False),
        ({0: math.nan, 50: math.nan}, True),
        # The others have not come as far, or it has only begun.
        ({0: 9.0, 50: 9.0, 55: 9.0}, False),
        ({0: 99.0}, False),
        ({}, False),
    ],
)
def test_a_point_whose_best_loss_is_above_the_median_is_the_worst(
    own: dict[int, float], is_worst: bool
) -> None:
    assert MedianStopping().is_worst(5, [*OTHERS, own]) is is_worst


def test_no_point_is_the_worst_of_a_few() -> None:
    assert not MedianStopping().is_worst(4, [*OTHERS[:4], {50: 99.0}])


def test_others_without_a_number_count_as_the_worst() -> None:
    others = [{50: math.nan}] * 3 + [{50: 1.0}] * 2

    assert not MedianStopping().is_worst(5, [*others, {50: 7.0}])
