"""The command `dsportal usage`: GPU hours of a period by group and user, as Slurm recorded them."""

import argparse
import asyncio
import csv
import io
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from dsportal.slurm.listing import new_nonce
from spawner.client.command import query
from spawner.errors import SiteError
from spawner.slurm.sacct import (
    OWNED_ALLOCATIONS,
    Allocation,
    Owner,
    core_hours,
    gpu_hours,
    parse_owned_allocations,
)

# sacct reads a month of everybody's jobs from the database.
TIMEOUT_S = 300.0
_GAUGES = {
    "gpu_hours": "Hours times GPUs that jobs held.",
    "core_hours": "Hours times cores that those of these jobs held that have ended.",
    "core_hours_used": "Those of them in which a core computed.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one user held in a period, under one group or account.

    Attributes:
        group: UNIX group, or account of Slurm.
        gpu_hours: Hours times GPUs, allocated, whether busy or not.
        gpu_hours_in_sessions: Those of them in sessions of a portal and jobs of their kernels.
        core_hours: Hours times cores that those of these jobs held that have ended.
        core_hours_used: Those of them in which a core computed.
        jobs: Jobs that held a GPU.
        week: The Monday of the week, as 2026-11-16; empty for the whole period.
    """

    group: str
    user: str
    gpu_hours: float
    gpu_hours_in_sessions: float
    jobs: int
    core_hours: float = 0.0
    core_hours_used: float = 0.0
    week: str = ""


def show_usage(arguments: argparse.Namespace) -> int:
    """Print the GPU hours of a period."""
    if os.geteuid() != 0:
        raise SiteError("Run this as root: Slurm may show others only their own jobs.")
    since, until = read_period(arguments.since, arguments.until, datetime.now())
    held = asyncio.run(_read(since, until))
    spans = list_weeks(since, until) if arguments.weeks else [(since, until, "")]
    rows = [
        row
        for begin, end, week in spans
        for row in sum_up(held, since=begin, until=end, by=arguments.by, week=week)
    ]
    if arguments.csv:
        print(usage_csv(rows, by=arguments.by), end="")
    elif arguments.gauges:
        print(usage_gauges(rows, by=arguments.by), end="")
    elif arguments.json:
        period = {"since": f"{since:%Y-%m-%dT%H:%M}", "until": f"{until:%Y-%m-%dT%H:%M}"}
        print(
            json.dumps({**period, "by": arguments.by, "rows": [asdict(r) for r in rows]}, indent=1)
        )
    else:
        print(usage_text(rows, since=since, until=until, by=arguments.by))
    return 0


def read_period(since: str, until: str, now: datetime) -> tuple[datetime, datetime]:
    """Return the period that two texts name, in this host's time zone, as Slurm prints times.

    Empty texts stand for the first of this month, and for `now`.
    """
    first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    begin, end = _read_moment(since, first), _read_moment(until, now)
    end = min(end, now)
    if begin >= end:
        raise SiteError(
            f"Nothing was held between {begin:%Y-%m-%d %H:%M} and {end:%Y-%m-%d %H:%M}:"
            " give a --since that is past, and an --until after it."
        )
    return begin, end


def _read_moment(text: str, default: datetime) -> datetime:
    if not text:
        return default
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise SiteError(
            f"{text!r} is no date. Write it as 2026-11-01 or 2026-11-01T18:00."
        ) from error
    if moment.tzinfo is not None:
        moment = moment.astimezone().replace(tzinfo=None)
    return moment


async def _read(since: datetime, until: datetime) -> list[tuple[Owner, Allocation]]:
    nonce = new_nonce()
    argv = (
        # --duplicates: a job that was requeued held its GPUs in each of its runs. Without its steps
        # a job has no TotalCPU.
        *("sacct", *OWNED_ALLOCATIONS.options_with_steps(nonce), "--duplicates", "--allusers"),
        f"--starttime={since:%Y-%m-%dT%H:%M:%S}",
        # sacct takes whole seconds, and the last one counts, too.
        f"--endtime={until + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}",
    )
    return parse_owned_allocations((await query(argv, timeout_s=TIMEOUT_S)).stdout, nonce)


def sum_up(
    held: Iterable[tuple[Owner, Allocation]],
    *,
    since: datetime,
    until: datetime,
    by: str,
    week: str = "",
) -> list[Usage]:
    """Return the usage of each user, `by` "group" or "account" and then the most first."""
    of: dict[tuple[str, str], list[Allocation]] = {}
    for owner, allocation in held:
        is_in = allocation.starts_at < until and (allocation.ends_at or until) > since
        if allocation.n_gpus and is_in:
            name = owner.account if by == "account" else owner.group
            of.setdefault((name, owner.user), []).append(allocation)
    cores = {of_whom: core_hours(jobs, since=since, until=until) for of_whom, jobs in of.items()}
    rows = [
        Usage(
            group=group,
            user=user,
            gpu_hours=round(gpu_hours(jobs, since=since, until=until), 3),
            gpu_hours_in_sessions=round(
                gpu_hours(
                    (job for job in jobs if job.is_session or job.is_kernel),
                    since=since,
                    until=until,
                ),
                3,
            ),
            jobs=len(jobs),
            core_hours=round(cores[group, user][0], 3),
            core_hours_used=round(cores[group, user][1], 3),
            week=week,
        )
        for (group, user), jobs in of.items()
    ]
    return sorted(rows, key=lambda row: (row.group, -row.gpu_hours, row.user))


def list_weeks(since: datetime, until: datetime) -> list[tuple[datetime, datetime, str]]:
    """Return the begin, the end and the Monday of each week of a period, the oldest first."""
    weeks = []
    begin = since
    while begin < until:
        midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0)
        monday = midnight - timedelta(days=begin.weekday())
        end = min(monday + timedelta(days=7), until)
        weeks.append((begin, end, f"{monday:%Y-%m-%d}"))
        begin = end
    return weeks


def usage_csv(rows: list[Usage], *, by: str) -> str:
    """Return a table for a spreadsheet, a line for each row."""
    text = io.StringIO()
    names = [field.name for field in fields(Usage)]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(by if name == "group" else name for name in names)
    writer.writerows([getattr(row, name) for name in names] for row in rows)
    return text.getvalue()


def usage_gauges(rows: list[Usage], *, by: str) -> str:
    """Return the rows as Prometheus reads them from a file, such as node_exporter's textfile."""
    registry = CollectorRegistry()
    for name, held in _GAUGES.items():
        gauge = Gauge(f"dsportal_usage_{name}", held, [by, "user", "week"], registry=registry)
        for row in rows:
            gauge.labels(row.group, row.user, row.week).set(getattr(row, name))
    return generate_latest(registry).decode()


def usage_text(rows: list[Usage], *, since: datetime, until: datetime, by: str) -> str:
    """Return a table for a terminal, with a sum for each group or account and for all."""
    period = f"{since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M}"
    if not rows:
        return (
            f"Slurm knows of no job that held a GPU, {period}. It records GPUs only if"
            " AccountingStorageTRES in slurm.conf has gres/gpu: dsportal check --only accounting."
        )
    lines = [
        f"GPU hours, {period}; allocated, whether busy or not, and the share of the core hours"
        " of ended jobs that computed",
        f"{by:<20}{'user':<20}{'GPU hours':>12}{'in sessions':>13}{'cores used':>12}{'jobs':>8}",
    ]
    for week in dict.fromkeys(row.week for row in rows):
        lines += [f"week of {week}"] if week else []
        lines += _lines([row for row in rows if row.week == week])
    return "\n".join(lines)


def _lines(rows: list[Usage]) -> list[str]:
    lines: list[str] = []
    groups = dict.fromkeys(row.group for row in rows)
    for group in groups:
        own = [row for row in rows if row.group == group]
        lines += [_line(row.group, row.user, [row]) for row in own]
        lines += [_line(group, "all", own)] if len(own) > 1 else []
    return lines + ([_line("all", "all", rows)] if len(groups) > 1 else [])


def _line(group: str, user: str, rows: list[Usage]) -> str:
    hours = sum(row.gpu_hours for row in rows)
    in_sessions = sum(row.gpu_hours_in_sessions for row in rows)
    n_jobs = sum(row.jobs for row in rows)
    held = sum(row.core_hours for row in rows)
    share = f"{sum(row.core_hours_used for row in rows) / held:.0%}" if held else "-"
    return f"{group:<20}{user:<20}{hours:>12.2f}{in_sessions:>13.2f}{share:>12}{n_jobs:>8}"
