"""What the home page says of GPU hours, day by day, and of the sessions that have ended."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from dsportal.slurm.states import JobState
from dsportal.slurm.used import JobUse
from portal.hub.pages.gpu_hours import (
    describe_usage,
    month_start,
    usage_start,
    week_start,
)
from portal.hub.pages.past_sessions import list_past_sessions
from spawner.slurm.sacct import Allocation

# A Wednesday.
NOW = datetime(2026, 11, 4, 14, 20)
SUNDAY = datetime(2026, 11, 1, 10)
HELD = [
    Allocation(starts_at=SUNDAY, ends_at=SUNDAY + timedelta(hours=3), n_gpus=2),
    Allocation(starts_at=NOW - timedelta(hours=2), ends_at=None, n_gpus=1),
]


def session(state: JobState = JobState.CANCELLED, **changes: Any) -> Allocation:
    known: dict[str, Any] = {
        "starts_at": SUNDAY,
        "ends_at": SUNDAY + timedelta(hours=3, minutes=5),
        "n_gpus": 2,
        "state": state,
        "is_session": True,
    }
    return Allocation(**known | changes)


def test_a_week_begins_on_monday_and_a_month_on_the_first() -> None:
    assert week_start(NOW) == datetime(2026, 11, 2)
    assert month_start(NOW) == datetime(2026, 11, 1)
    assert week_start(datetime(2026, 11, 1)) == datetime(2026, 10, 26), (
        "a week may begin last month"
    )


def test_accounting_is_asked_from_the_same_moment_on_all_day() -> None:
    assert usage_start(NOW) == datetime(2026, 10, 22), "the first of the 14 days"
    assert usage_start(NOW) == usage_start(NOW.replace(hour=23))
    assert usage_start(datetime(2026, 11, 30, 9)) == datetime(2026, 11, 1)


def test_usage_is_told_for_the_week_and_for_the_month() -> None:
    assert describe_usage(HELD, NOW).totals == (
        ("This week", "2.0 GPU hours"),
        ("This month", "8.0 GPU hours"),
    )


def test_use_is_told_of_what_was_measured_and_a_dash_stands_for_nothing() -> None:
    measured = [replace(HELD[0], gpu_percent=50), HELD[1]]

    assert describe_usage(measured, NOW).used == "3.0 of 6.0 measured"
    assert describe_usage([replace(HELD[0], gpu_percent=0)], NOW).used.startswith("0.0 of 6.0")
    assert describe_usage(HELD, NOW).used == "-"
    assert describe_usage([], NOW).used == ""


def test_each_of_the_last_14_days_has_a_bar_and_the_highest_is_full() -> None:
    view = describe_usage(HELD, NOW)

    assert len(view.days) == 14
    assert (view.days[0].label, view.days[-1].label) == ("Thu 22 Oct", "Wed 4 Nov")
    assert {day.label: (day.words, round(day.percent)) for day in view.days if day.percent} == {
        "Sun 1 Nov": ("6.0 GPU hours", 100),
        "Wed 4 Nov": ("2.0 GPU hours", 33),
    }
    assert view.days[0].words == "no GPU hours"
    assert view.most == "6.0 GPU hours"


def test_hours_around_midnight_belong_to_both_days() -> None:
    late = datetime(2026, 11, 2, 23)
    night = [Allocation(starts_at=late, ends_at=late + timedelta(hours=4), n_gpus=1)]

    days = {day.label: day.words for day in describe_usage(night, NOW).days}

    assert (days["Mon 2 Nov"], days["Tue 3 Nov"]) == ("1.0 GPU hours", "3.0 GPU hours")


def test_who_has_used_nothing_reads_so_and_sees_no_chart() -> None:
    view = describe_usage([], NOW)

    assert {words for _, words in view.totals} == {"no GPU hours yet"}
    assert (view.days, view.sessions) == ((), ())


def test_a_past_session_says_when_how_long_with_what_and_how_it_ended() -> None:
    use = JobUse(elapsed_s=3600, n_cores=8, n_gpus=1, cpu_s=3600, peak_gpu_percent=0)
    (past,) = list_past_sessions([session(JobState.TIMEOUT, job_id=7)], {"7": use})

    assert past.started_at == SUNDAY.timestamp()
    assert (past.gpus, past.length, past.end) == ("2 GPUs", "3 h 5 min", "Time limit reached")
    assert not past.has_failed
    assert past.used.startswith("1.0 of 8 cores on average")
    assert "ask for none" in past.advice


@pytest.mark.parametrize(
    ("state", "end", "has_failed"),
    [
        (JobState.COMPLETED, "Completed", False),
        (JobState.CANCELLED, "Stopped", False),
        (JobState.OUT_OF_MEMORY, "Out of memory", True),
        (JobState.NODE_FAIL, "Node failed", True),
        (JobState.PREEMPTED, "Preempted by another job", True),
        (JobState.REVOKED, "Ended", False),
    ],
)
def test_an_end_that_nobody_wished_is_marked(state: JobState, end: str, has_failed: bool) -> None:
    (past,) = list_past_sessions([session(state)])

    assert (past.end, past.has_failed) == (end, has_failed)


@pytest.mark.parametrize(("by_jobstats", "told"), [(None, "25 %"), (75.0, "75 %")])
def test_the_average_of_the_portals_meter_is_told_where_jobstats_has_none(
    by_jobstats: float | None, told: str
) -> None:
    use = JobUse(elapsed_s=3600, n_gpus=1, mean_gpu_percent=by_jobstats)
    (past,) = list_past_sessions([session(job_id=7, gpu_percent=25.0)], {"7": use})

    assert f"its GPUs {told} on average" in past.used


def test_the_job_of_a_kernel_is_listed_with_sessions() -> None:
    kernel = session(is_session=False, is_kernel=True, job_id=9)

    assert [(past.gpus, past.is_kernel) for past in list_past_sessions([kernel])] == [
        ("2 GPUs", True)
    ]


def test_the_newest_ten_sessions_are_listed_and_nothing_else() -> None:
    day = timedelta(days=1)
    ended = [session(starts_at=SUNDAY - n * day, n_gpus=n) for n in range(12)]
    others = [
        session(JobState.RUNNING, ends_at=None),
        session(is_session=False),
        # Slurm is still cleaning up, and accounting has the end of a run that was requeued.
        session(JobState.PENDING),
    ]

    listed = list_past_sessions([*reversed(ended), *others])

    assert [past.gpus for past in listed] == [
        "no GPU",
        "1 GPU",
        *(f"{n} GPUs" for n in range(2, 10)),
    ]
