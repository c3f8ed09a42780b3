"""Data of a user's GPU hours, from Slurm's accounting, for the home page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dsportal.slurm.used import JobUse
from portal.hub.formatting import format_day, format_gpu_hours
from portal.hub.pages.past_sessions import NO_USES, PastSession, list_past_sessions
from spawner.slurm.sacct import Allocation, gpu_hours, gpu_hours_used

N_DAYS = 14
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayBar:
    """One day of the chart.

    Attributes:
        label: Such as "Mon 2 Nov".
        words: The GPU hours, formatted.
        percent: Height of the bar: 0 to 100, which is the day with the most.
    """

    label: str
    words: str
    percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageView:
    """What a user's jobs held on one cluster.

    Attributes:
        cluster: Its title; empty where the site has one cluster.
        totals: GPU hours, formatted, by the name of their span.
        used: Those of this month that were used, formatted; "-" if none was measured, "" if
            there are none.
        days: The last N_DAYS days, today last; empty without GPU hours on them.
        most: GPU hours of the day with the most, formatted.
        sessions: The newest first.
        budgets: Sentences about the user's budgets, and the fair share.
        problem: Why nothing is known; else empty.
        is_late: The answer will be there at a later request.
    """

    cluster: str = ""
    totals: tuple[tuple[str, str], ...] = ()
    used: str = ""
    days: tuple[DayBar, ...] = ()
    most: str = ""
    sessions: tuple[PastSession, ...] = ()
    budgets: tuple[str, ...] = ()
    problem: str = ""
    is_late: bool = False


def describe_usage(
    allocations: Sequence[Allocation], now: datetime, uses: Mapping[str, JobUse] = NO_USES
) -> UsageView:
    """Return the GPU hours of this week, this month and each day, and the last sessions.

    `now` is in the time zone of the allocations, which reach back to `usage_start`. `uses` are
    what jobs used, by their ids.
    """
    spans = {"This week": week_start(now), "This month": month_start(now)}
    hours = _hours_by_day(allocations, now)
    most = max(hours.values())
    return UsageView(
        totals=tuple(
            (name, format_gpu_hours(gpu_hours(allocations, since=at, until=now)))
            for name, at in spans.items()
        ),
        used=_format_used(allocations, now),
        days=tuple(
            DayBar(
                label=format_day(day),
                words=format_gpu_hours(spent) if spent else "no GPU hours",
                percent=100 * spent / most,
            )
            for day, spent in hours.items()
            if most
        ),
        most=format_gpu_hours(most),
        sessions=list_past_sessions(allocations, uses),
    )


def usage_start(now: datetime) -> datetime:
    """Return the moment from which `describe_usage` needs the allocations; the same all day."""
    # A week may have begun in the last month.
    return min(week_start(now), month_start(now), _midnight(now) - (N_DAYS - 1) * _DAY)


def week_start(now: datetime) -> datetime:
    """Return Monday at midnight of a week."""
    return _midnight(now) - now.weekday() * _DAY


def month_start(now: datetime) -> datetime:
    """Return the first at midnight of a month."""
    return _midnight(now).replace(day=1)


def _format_used(allocations: Sequence[Allocation], now: datetime) -> str:
    since = month_start(now)
    if not gpu_hours(allocations, since=since, until=now):
        return ""
    measured_h, used_h = gpu_hours_used(allocations, since=since, until=now)
    return f"{used_h:,.1f} of {measured_h:,.1f} measured" if measured_h else "-"


def _hours_by_day(allocations: Sequence[Allocation], now: datetime) -> dict[datetime, float]:
    days = [_midnight(now) - n * _DAY for n in reversed(range(N_DAYS))]
    return {day: gpu_hours(allocations, since=day, until=min(day + _DAY, now)) for day in days}


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
