"""When a job runs again, and what Slurm keeps of that."""

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from dsportal.slurm.again import find_mark, new_series, parse_again, read_mark
from dsportal.slurm.errors import OptionsError


@pytest.fixture(autouse=True)
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# 2026-11-28 is a Saturday. The clock is put on at 2 on 2027-03-28, and back at 3 on 2026-10-25.
@pytest.mark.parametrize(
    ("every", "at", "now", "first"),
    [
        ("day", "04:00", "2026-11-28T03:59:59", "2026-11-28T04:00"),
        ("day", "04:00", "2026-11-28T04:00:00", "2026-11-29T04:00"),
        ("day", "4:00", "2026-12-31T23:00:00", "2027-01-01T04:00"),
        ("saturday", "04:00", "2026-11-28T03:00:00", "2026-11-28T04:00"),
        ("saturday", "04:00", "2026-11-28T04:00:01", "2026-12-05T04:00"),
        ("monday", "23:30", "2026-11-28T04:00:00", "2026-11-30T23:30"),
        # The same time of day, 23 and 25 hours later.
        ("day", "04:00", "2027-03-27T04:00:01", "2027-03-28T04:00"),
        ("day", "04:00", "2026-10-24T04:00:01", "2026-10-25T04:00"),
        # A time that is left out comes an hour later, and only once.
        ("day", "02:30", "2027-03-27T03:00:00", "2027-03-28T03:30"),
        ("day", "02:30", "2027-03-28T03:30:01", "2027-03-29T02:30"),
    ],
)
def test_the_next_run_goes_by_the_clock(every: str, at: str, now: str, first: str) -> None:
    again = parse_again(every, at, "0a1b2c3d")

    assert again.after(datetime.fromisoformat(now)) == datetime.fromisoformat(first)


def test_of_a_time_that_a_day_has_twice_the_first_counts() -> None:
    again = parse_again("day", "02:30", "0a1b2c3d")
    # Ten past two, for the second time: the run was late.
    now = datetime(2026, 10, 25, 2, 10, fold=1)

    assert again.after(now) == datetime(2026, 10, 26, 2, 30)


def test_the_mark_in_a_job_file_says_the_same() -> None:
    again = parse_again("monday", "04:05", new_series())

    assert read_mark(again.mark) == again
    assert find_mark(f'#!/bin/bash\n#SBATCH "--comment={again.mark}"\n') == again
    assert again.words == "every Monday at 04:05"


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "(null)",
        "dsportal: every day at 04:00",
        "dsportal: every night at 04:00 (0a1b2c3d)",
        "dsportal: every day at 24:00 (0a1b2c3d)",
        "dsportal: every day at 04:00 (0a1b2c3d) ",
    ],
)
def test_another_comment_is_no_mark(comment: str) -> None:
    assert read_mark(comment) is None


@pytest.mark.parametrize(("every", "at"), [("night", "04:00"), ("day", "4"), ("day", "04:60")])
def test_what_is_no_day_or_no_time_is_refused(every: str, at: str) -> None:
    with pytest.raises(OptionsError):
        parse_again(every, at, "0a1b2c3d")
