"""The page of use: GPU hours by week, group and user, for administrators."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from jupyterhub.handlers import BaseHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError, authenticated

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
from portal.hub.pages.administration import STOPS_SESSIONS
from portal.hub.pages.gpu_record import GpuRecord
from portal.hub.pages.home import PATIENCE_S
from spawner.cache import Cache
from spawner.client.command import ClusterAddress

ROUTE = r"/administration/usage"
# Whole ones before the one that runs.
_N_WEEKS = 4
# By UNIX group, and by Slurm's account.
_BY = ("group", "account")
# The jobs of a large cluster take the database minutes.
_FRESH_S = 1800.0
# Of a week; the file has all.
_MOST_SHOWN = 100
_Rows = Mapping[str, Sequence[Usage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a user, a group or everybody held in a week, as text.

    Attributes:
        user: Empty for a whole group.
        gpus_used: GPU hours used, of those measured; "-" if none were.
        cores_used: Share of the core hours in which a core computed; empty if not known.
    """

    group: str
    user: str
    gpu_hours: str
    in_sessions: str
    gpus_used: str
    cores_used: str
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """One week of one cluster.

    Attributes:
        monday: Its first day, as 2026-11-16.
        cluster: Title of the cluster; empty where there is only one.
        whole: All of it.
        lines: Each group, and then its users, the most hours first.
        n_left_out: Lines that are not shown.
    """

    monday: str
    cluster: str
    whole: Line
    lines: tuple[Line, ...]
    n_left_out: int


def describe_weeks(rows: Sequence[Usage]) -> tuple[Week, ...]:
    """Return the weeks of these rows, the newest first, with each cluster in the order of rows."""
    weeks = []
    each = dict.fromkeys((row.week, row.cluster) for row in rows)
    for monday, cluster in sorted(each, key=lambda one: one[0], reverse=True):
        of_week = [row for row in rows if (row.week, row.cluster) == (monday, cluster)]
        lines = list(_lines(of_week))
        weeks.append(
            Week(
                monday=monday,
                cluster=cluster,
                whole=_sum(of_week),
                lines=tuple(lines[:_MOST_SHOWN]),
                n_left_out=max(0, len(lines) - _MOST_SHOWN),
            )
        )
    return tuple(weeks)


def _lines(rows: Sequence[Usage]) -> list[Line]:
    groups: dict[str, list[Usage]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    found: list[Line] = []
    for group in sorted(groups, key=lambda name: -_hours(groups[name])):
        users = sorted(groups[group], key=lambda row: (-row.gpu_hours, row.user))
        found += [_sum(users, group), *(_sum([row], group, row.user) for row in users)]
    return found


def _hours(rows: Sequence[Usage]) -> float:
    return sum(row.gpu_hours for row in rows)


def _sum(rows: Sequence[Usage], group: str = "", user: str = "") -> Line:
    held = sum(row.core_hours for row in rows)
    used = sum(row.core_hours_used for row in rows)
    return Line(
        group=group,
        user=user,
        gpu_hours=f"{_hours(rows):,.1f}",
        in_sessions=f"{sum(row.gpu_hours_in_sessions for row in rows):,.1f}",
        gpus_used=format_used(rows),
        cores_used=f"{used / held:.0%}" if held else "",
        jobs=sum(row.jobs for row in rows),
    )


async def read_weeks(record: GpuRecord, address: ClusterAddress) -> _Rows:
    """Return a cluster's last weeks, by group and by account; `record` as for `read_held`."""
    now = datetime.now()
    monday = now.replace(hour=0, minute=0, second=0, microsecond=0)
    since = monday - timedelta(days=now.weekday(), weeks=_N_WEEKS)
    held = await read_held(address, since=since, until=now, record=record)

    def rows(by: str) -> list[Usage]:
        return [
            row
            for begin, end, week in list_weeks(since, now)
            for row in sum_up(held, since=begin, until=end, by=by, week=week, cluster=address.title)
        ]

    # Those of a large cluster take seconds, which the hub has not.
    return {by: await asyncio.to_thread(rows, by) for by in _BY}


# The same for each request.
@lru_cache(maxsize=8)
def _known(record_path: Path) -> Cache[ClusterAddress, _Rows]:
    read = partial(read_weeks, GpuRecord(record_path))
    return Cache(read, fresh_s=_FRESH_S, failure_s=60.0)


class UsageHandler(BaseHandler):
    """Shows what everybody held."""

    def initialize(self, record_path: Path, addresses: Sequence[ClusterAddress]) -> None:
        """Take the arguments of the route."""
        self._known = _known(record_path)
        self._addresses = addresses

    @authenticated
    @needs_scope("admin-ui")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Show the page, or with `format=csv` send the rows as a file."""
        if STOPS_SESSIONS not in self.expanded_scopes:
            raise HTTPError(403, "You may not see what everybody has used.")
        by = self.get_query_argument("by", _BY[0])
        by = by if by in _BY else _BY[0]
        answers, missing = await read_each(
            self._addresses, partial(self._known.get_within, PATIENCE_S)
        )
        known = [answer[by] for answer in answers.values() if answer is not None]
        rows, is_late = [row for each in known for row in each], len(known) < len(answers)
        problems = explain_missing(missing)
        if self.get_query_argument("format", "") == "csv":
            if is_late or not known:
                late = "Slurm's accounting is still being read. Ask again."
                raise HTTPError(503, late if is_late else " ".join(problems))
            self.set_header("Content-Type", "text/csv")
            self.set_header("Content-Disposition", f'attachment; filename="usage-by-{by}.csv"')
            self.finish(usage_csv(rows, by=by, missing=missing))
            return
        view = {
            "by": by,
            "weeks": describe_weeks(rows) if known else None,
            "problems": problems,
            "is_late": is_late,
        }
        self.finish(await self.render_template("all_usage.html", **view))


def usage_route(record_path: Path, addresses: Sequence[ClusterAddress]) -> Any:
    """Return the route of this module for `JupyterHub.extra_handlers`."""
    return (ROUTE, UsageHandler, {"record_path": record_path, "addresses": addresses})
