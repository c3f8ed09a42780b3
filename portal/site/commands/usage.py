"""The command `dsportal usage`: GPU hours of a period by group and user, as Slurm recorded them."""

import argparse
import asyncio
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from types import MappingProxyType

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from dsportal.slurm.errors import PortalError
from portal.hub.admin.usage import (
    Usage,
    explain_missing,
    format_used,
    list_weeks,
    read_each,
    read_held,
    sum_up,
    usage_csv,
)
from portal.hub.pages.gpu_record import GpuRecord
from portal.hub.settings.loader import load_settings
from spawner.client.command import ClusterAddress
from spawner.errors import SiteError

_GAUGES = {
    "gpu_hours": "Hours times GPUs that jobs held.",
    "core_hours": "Hours times cores that those of these jobs held that have ended.",
    "core_hours_used": "Those of them in which a core computed.",
    "gpu_hours_measured": "GPU hours of jobs whose use of GPUs is known.",
    "gpu_hours_used": "Those times the average use of these GPUs; absent if none is known.",
}


def show_usage(arguments: argparse.Namespace) -> int:
    """Print the GPU hours of a period.

    Returns:
        0 if all clusters have answered, else 1.
    """
    if os.geteuid() != 0:
        raise SiteError("Run this as root: Slurm may show others only their own jobs.")
    since, until = read_period(arguments.since, arguments.until, datetime.now())
    settings = load_settings(arguments.settings)
    record = GpuRecord(settings.hub.gpu_record_path)
    read = partial(read_held, since=since, until=until, record=record)
    answers, missing = asyncio.run(read_each(settings.addresses, read))
    if not answers:
        raise SiteError(" ".join(explain_missing(missing)))
    spans = list_weeks(since, until) if arguments.weeks else [(since, until, "")]
    rows = [
        row
        for address, held in answers.items()
        for begin, end, week in spans
        for row in sum_up(
            held, since=begin, until=end, by=arguments.by, week=week, cluster=address.title
        )
    ]
    if arguments.csv:
        print(usage_csv(rows, by=arguments.by, missing=missing), end="")
    elif arguments.gauges:
        print(usage_gauges(rows, by=arguments.by, known=answers, missing=missing), end="")
    elif arguments.json:
        said = {
            "since": f"{since:%Y-%m-%dT%H:%M}",
            "until": f"{until:%Y-%m-%dT%H:%M}",
            "by": arguments.by,
            "rows": [asdict(row) for row in rows],
            "missing": {one.title: error.message for one, error in missing.items()},
        }
        print(json.dumps(said, indent=1))
    else:
        print(usage_text(rows, since=since, until=until, by=arguments.by, missing=missing))
    return int(bool(missing))


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


def usage_gauges(
    rows: Sequence[Usage],
    *,
    by: str,
    known: Iterable[ClusterAddress] = (),
    missing: Iterable[ClusterAddress] = (),
) -> str:
    """Return the rows as Prometheus reads them from a file, such as node_exporter's textfile.

    `known` are the clusters that answered, and `missing` those that did not.
    """
    registry = CollectorRegistry()
    for name, held in _GAUGES.items():
        gauge = Gauge(
            f"dsportal_usage_{name}", held, [by, "user", "week", "cluster"], registry=registry
        )
        for row in rows:
            if (value := getattr(row, name)) is not None:
                gauge.labels(row.group, row.user, row.week, row.cluster).set(value)
    held = "1 if the accounting of the cluster answered; 0: its hours are absent here."
    answers = Gauge("dsportal_usage_answers", held, ["cluster"], registry=registry)
    for address in known:
        answers.labels(address.title).set(1)
    for address in missing:
        answers.labels(address.title).set(0)
    return generate_latest(registry).decode()


def usage_text(
    rows: Sequence[Usage],
    *,
    since: datetime,
    until: datetime,
    by: str,
    missing: Mapping[ClusterAddress, PortalError] = MappingProxyType({}),
) -> str:
    """Return a table for a terminal, with a sum for each group or account and for all."""
    period = f"{since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M}"
    problems = explain_missing(missing)
    if not rows:
        none = (
            f"Slurm knows of no job that held a GPU, {period}. It records GPUs only if"
            " AccountingStorageTRES in slurm.conf has gres/gpu: dsportal check --only accounting."
        )
        return "\n".join([none, *problems])
    lines = [
        f"GPU hours, {period}: allocated, and used of those that were measured (- for none);"
        " the share of the core hours of ended jobs that computed",
        f"{by:<20}{'user':<20}{'GPU hours':>12}{'in sessions':>13}{'used of measured':>24}"
        f"{'cores used':>12}{'jobs':>8}",
    ]
    for cluster, week in dict.fromkeys((row.cluster, row.week) for row in rows):
        words = [word for word in (cluster, f"week of {week}" if week else "") if word]
        lines += [", ".join(words)] if words else []
        lines += _lines([row for row in rows if (row.cluster, row.week) == (cluster, week)])
    return "\n".join([*lines, *problems])


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
