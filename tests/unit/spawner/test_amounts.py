"""Counts and durations in sentences."""

from __future__ import annotations

import pytest

from spawner.amounts import count, format_length


@pytest.mark.parametrize(("n", "words"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs")])
def test_a_count_has_its_noun(n: int, words: str) -> None:
    assert count(n, "job") == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (60, "1 minute"),
        (1200, "20 minutes"),
        (3600, "1 hour"),
        (5400, "1.5 hours"),
        (14_436, "4.01 hours"),
        (86_400, "24 hours"),
    ],
)
def test_a_length_that_is_just_above_its_limit_does_not_read_like_the_limit(
    seconds: int, words: str
) -> None:
    assert format_length(seconds) == words
