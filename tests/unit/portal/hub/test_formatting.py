"""Amounts as users read them."""

from datetime import datetime

import pytest

from portal.hub.formatting import format_clock, format_gpus, format_memory


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (format_gpus(0), "no GPU"),
        (format_gpus(1), "1 GPU"),
        (format_gpus(2), "2 GPUs"),
        (format_memory(512), "512 MB"),
        (format_memory(49152), "48 GB"),
        (format_memory(1536), "1.5 GB"),
    ],
)
def test_amounts(words: str, expected: str) -> None:
    assert words == expected


def test_a_time_of_another_day_names_the_day() -> None:
    now = datetime(2026, 11, 20, 9, 0)

    assert format_clock(datetime(2026, 11, 20, 8, 5), now) == "at 08:05"
    assert format_clock(datetime(2026, 11, 19, 8, 5), now) == "on Thu 19 Nov at 08:05"
