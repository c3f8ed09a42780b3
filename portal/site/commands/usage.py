"""The command `dsportal usage`: GPU hours of a period by group and user, as Slurm recorded them."""

import argparse
import asyncio
import json
import os
from dataclasses import asdict
from datetime import datetime

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from portal.hub.admin.usage import Usage, format_used, list_weeks, read_held, sum_up, usage_csv
from portal.hub.pages.gpu_record import GpuRecord
from portal.hub.settings.loader import load_settings
from spawner.errors import SiteError

_GAUGES = {
    "gpu_hours": "Hours times GPUs that jobs held.",
    "core_hours": "Hours times cores that those of these jobs held that have ended.",
    "core_hours_used": "Those of them in which a core computed.",
    "gpu_hours_measured": "GPU hours of jobs whose use of GPUs is known.",
    "gpu_hours_used": "Those times the average use of these GPUs; absent if none is known.",
}


def show_usage(arguments: argparse.Namespace) -> int:
    """Print the GPU hours of a period."""
    if os.geteuid() != 0:
        raise SiteError("Run this as root: Slurm may show others only their own jobs.")
    since, until = read_period(arguments.since, arguments.until, datetime.now())
    record = GpuRecord(load_settings(arguments.settings).hub.gpu_record_path)
    held = asyncio.run(read_held(since, until, record))
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


def usage_gauges(rows: list[Usage], *, by: str) -> str:
    """Return the rows as Prometheus reads them from a file, such as node_exporter's textfile."""
    registry = CollectorRegistry()
    for name, held in _GAUGES.items():
        gauge = Gauge(f"dsportal_usage_{name}", held, [by, "user", "week"], registry=registry)
        for row in rows:
            if (value := getattr(row, name)) is not None:
                gauge.labels(row.group, row.user, row.week).set(value)
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
        f"GPU hours, {period}: allocated, and used of those that were measured (- for none);"
        " the share of the core hours of ended jobs that computed",
        f"{by:<20}{'user':<20}{'GPU hours':>12}{'in sessions':>13}{'used of measured':>24}"
        f"{'cores used':>12}{'jobs':>8}",
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
    return (
        f"{group:<20}{user:<20}{hours:>12.2f}{in_sessions:>13.2f}{format_used(rows):>24}"
        f"{share:>12}{n_jobs:>8}"
    )
