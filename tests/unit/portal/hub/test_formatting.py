"""Amounts as users read them."""

from __future__ import annotations

from datetime import datetime

import pytest

from portal.hub.auth.credentials import format_wait
from portal.hub.formatting import (
    format_clock,
    format_cores,
    format_gpus,
    format_memory,
    format_time_left,
)
from spawner.amounts import format_hours


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (format_gpus(0), "no GPU"),
        (format_gpus(1), "1 GPU"),
        (format_gpus(2), "2 GPUs"),
        (format_cores(1), "1 core"),
        (format_cores(16), "16 cores"),
        (format_memory(512), "512 MB"),
        (format_memory(49152), "48 GB"),
        (format_memory(1536), "1.5 GB"),
        (format_hours(60), "1 minute"),
        (format_hours(1800), "30 minutes"),
        (format_hours(3600), "1 hour"),
        (format_hours(5400), "1.5 hours"),
        (format_hours(28800), "8 hours"),
        (format_time_left(-5), "less than a minute"),
        (format_time_left(59), "less than a minute"),
        (format_time_left(3599), "59 min"),
        (format_time_left(27600), "7 h 40 min"),
        (format_wait(0.2), "1 second"),
        (format_wait(89), "89 seconds"),
        (format_wait(91), "2 minutes"),
    ],
)
def test_amounts(words: str, expected: str) -> None:
    assert words == expected


def test_a_time_of_another_day_names_the_day() -> None:
    now = datetime(2026, 11, 20, 9, 0)

    assert format_clock(datetime(2026, 11, 20, 8, 5), now) == "at 08:05"
    assert format_clock(datetime(2026, 11, 19, 8, 5), now) == "on Thursday, 19 November at 08:05"
