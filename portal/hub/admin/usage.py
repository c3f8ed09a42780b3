"""Who held and used how many GPUs and cores, by Slurm's records: for page, CSV and gauges."""

import asyncio
import csv
import io
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import TypeVar

from dsportal.slurm.errors import PortalError
from dsportal.slurm.listing import new_nonce
from portal.hub.pages.gpu_record import GpuRecord, with_percent
from spawner.client.command import ClusterAddress, query
from spawner.slurm.sacct import (
    OWNED_ALLOCATIONS,
    Allocation,
    Owner,
    core_hours,
    gpu_hours,
    gpu_hours_used,
    parse_owned_allocations,
)

# sacct reads a month of everybody's jobs from the database.
TIMEOUT_S = 300.0
# Shown in place of a name; no account or group can be called so.
NOBODY = "(none)"
MISSING = "(no answer)"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one user held in a period, under one group or account.

    Attributes:
        group: UNIX group, or account of Slurm.
        gpu_hours: Hours times GPUs, allocated, whether busy or not.
        gpu_hours_in_sessions: Those of them in sessions of a portal and jobs of their kernels.
        core_hours: Hours times cores that those of these jobs held that have ended.
        core_hours_used: Those of them in which a core computed.
        gpu_hours_measured: Those of `gpu_hours` of which the use is known.
        gpu_hours_used: Those times the average use of these GPUs; None if none is known.
        jobs: Jobs that held a GPU.
        week: The Monday of the week, as 2026-11-16; empty for the whole period.
        cluster: Its title; empty where there is only one.
    """

    group: str
    user: str
    gpu_hours: float
    gpu_hours_in_sessions: float
    jobs: int
    core_hours: float = 0.0
    core_hours_used: float = 0.0
    gpu_hours_measured: float = 0.0
    gpu_hours_used: float | None = None
    week: str = ""
    cluster: str = ""


async def read_each(
    addresses: Iterable[ClusterAddress], read: Callable[[ClusterAddress], Awaitable[T]]
) -> tuple[dict[ClusterAddress, T], dict[ClusterAddress, PortalError]]:
    """Return what `read` returns of each cluster, and why nothing is known of the others."""

    async def read_one(address: ClusterAddress) -> T | PortalError:
        try:
            return await read(address)
        except PortalError as error:
            return error

    each = tuple(addresses)
    known: dict[ClusterAddress, T] = {}
    missing: dict[ClusterAddress, PortalError] = {}
    for address, answer in zip(each, await asyncio.gather(*map(read_one, each)), strict=True):
        if isinstance(answer, PortalError):
            missing[address] = answer
        else:
            known[address] = answer
    return known, missing


def explain_missing(missing: Mapping[ClusterAddress, PortalError]) -> list[str]:
    """Return for each cluster of which nothing is known why."""
    return [
        f"The hours of {address.title} are missing. {error.message}"
        if address.title
        else error.message
        for address, error in missing.items()
    ]


async def read_held(
    address: ClusterAddress, *, since: datetime, until: datetime, record: GpuRecord
) -> list[tuple[Owner, Allocation]]:
    """Return all GPUs that anybody held on a cluster in a period of Slurm's local time.

    `record` says what GPUs did of which accounting knows nothing.
    """
    nonce = new_nonce()
    argv = (
        # --duplicates: a job that was requeued held its GPUs in each of its runs. Without its steps
        # a job has no TotalCPU.
        *("sacct", *OWNED_ALLOCATIONS.options_with_steps(nonce), "--duplicates", "--allusers"),
        # Of a federation sacct may print all clusters, and each would be counted twice.
        "--local",
        f"--starttime={since:%Y-%m-%dT%H:%M:%S}",
        # sacct takes whole seconds, and the last one counts, too.
        f"--endtime={until + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}",
    )
    done = await query(argv, timeout_s=TIMEOUT_S, slurm_conf=address.slurm_conf)

    def parse() -> list[tuple[Owner, Allocation]]:
        percents = record.on(address.name).read()
        return [
            (owner, with_percent(one, percents.get((owner.user, one.job_id))))
            for owner, one in parse_owned_allocations(done.stdout, nonce)
        ]

    return await asyncio.to_thread(parse)


def sum_up(
    held: Iterable[tuple[Owner, Allocation]],
    *,
    since: datetime,
    until: datetime,
    by: str,
    week: str = "",
    cluster: str = "",
) -> list[Usage]:
    """Return the usage of each user, `by` "group" or "account" and then the most first."""
    of: dict[tuple[str, str], list[Allocation]] = {}
    for owner, allocation in held:
        is_in = allocation.starts_at < until and (allocation.ends_at or until) > since
        if allocation.n_gpus and is_in:
            name = owner.account if by == "account" else owner.group
            # Jobs of a time without accounting have no account, later users no group any more.
            of.setdefault((name or NOBODY, owner.user), []).append(allocation)
    cores = {of_whom: core_hours(jobs, since=since, until=until) for of_whom, jobs in of.items()}
    gpus = {of_whom: gpu_hours_used(jobs, since=since, until=until) for of_whom, jobs in of.items()}
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
            gpu_hours_measured=round(gpus[group, user][0], 3),
            gpu_hours_used=round(gpus[group, user][1], 3) if gpus[group, user][0] else None,
            week=week,
            cluster=cluster,
        )
        for (group, user), jobs in of.items()
    ]
    return sorted(rows, key=lambda row: (row.group, -row.gpu_hours, row.user))


def format_used(rows: Iterable[Usage]) -> str:
    """Return the GPU hours used, of those measured, as "2.7 of 6.0 (45%)"; "-" if none were."""
    known = [(row.gpu_hours_used, row.gpu_hours_measured) for row in rows]
    used = sum(hours for hours, _ in known if hours is not None)
    measured = sum(hours for _, hours in known)
    return f"{used:,.1f} of {measured:,.1f} ({used / measured:.0%})" if measured else "-"


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


def usage_csv(rows: Sequence[Usage], *, by: str, missing: Iterable[ClusterAddress] = ()) -> str:
    """Return a table for a spreadsheet: a line for each row, and for each `missing` cluster."""
    text = io.StringIO()
    names = [field.name for field in fields(Usage)]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(by if name == "group" else name for name in names)
    writer.writerows([getattr(row, name) for name in names] for row in rows)
    # No number: it is not known, and not 0.
    without = {"group": MISSING}
    writer.writerows(
        [(without | {"cluster": one.title}).get(name, "") for name in names] for one in missing
    )
    return text.getvalue()
