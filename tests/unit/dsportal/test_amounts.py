"""Counts and durations in sentences."""

import pytest

from dsportal.amounts import (
    count,
    format_age,
    format_duration,
    format_option_hours,
    format_time_left,
    format_wait,
)


@pytest.mark.parametrize(("n", "words"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs")])
def test_a_count_has_its_noun(n: int, words: str) -> None:
    assert count(n, "job") == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (60, "1 minute"),
        (1200, "20 minutes"),
        (3540, "59 minutes"),
        (3600, "1 hour"),
        (5400, "1.5 hours"),
        (14_400, "4 hours"),
        (14_436, "4.01 hours"),
        (14_460, "4.02 hours"),
        (86_400, "24 hours"),
    ],
)
def test_a_length_that_is_just_above_its_limit_does_not_read_like_the_limit(
    seconds: int, words: str
) -> None:
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (format_time_left(-5), "less than a minute"),
        (format_time_left(59), "less than a minute"),
        (format_time_left(3599), "59 min"),
        (format_time_left(27600), "7 h 40 min"),
        (format_time_left(28800), "8 h"),
        (format_age(7500), "2 h 5 min"),
        (format_age(3 * 86_400), "3 days"),
        (format_wait(0.2), "1 second"),
        (format_wait(89), "89 seconds"),
        (format_wait(91), "2 minutes"),
        (format_option_hours(28_800), "8"),
        (format_option_hours(5400), "1.5"),
    ],
)
def test_each_use_of_a_duration_has_its_form(words: str, expected: str) -> None:
    assert words == expected
