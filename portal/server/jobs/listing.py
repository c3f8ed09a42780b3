"""The one list of jobs and runs: a run that is a job of its own is one row with that job."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dsportal.slurm.errors import PortalError
from portal.server.jobs.elsewhere import parse_elsewhere
from portal.server.jobs.job import SlurmJob
from portal.server.jobs.queue import JobQueue
from portal.server.jobs.run_view import RunView, find_job
from portal.server.jobs.runs import Runs
from spawner.errors import SlurmError

ReadPlaces = Callable[[Sequence[int]], Awaitable[Mapping[int, str]]]
ReadElsewhere = Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]
# Jobs that wait and whose places are asked for.
_MOST_PLACES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A job, a run of a session, or a run with the job that is its own."""

    job: SlurmJob | None
    run: RunView | None

    @property
    def is_over(self) -> bool:
        """Whether neither waits nor runs, as far as is known."""
        return all(each.is_over for each in (self.job, self.run) if each is not None)

    @property
    def at_s(self) -> float:
        """When it started or ended, in seconds since 1970; infinite while it waits."""
        if self.run is not None:
            return self.run.record.started_s + self.run.record.seconds
        return self.job.at_s if self.job is not None else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "job": None if self.job is None else self.job.as_json(),
            "run": None if self.run is None else self.run.as_json(),
        }


class JobList:
    """All that the user has started.

    Args:
        read_places: Returns places in the queue in words, by the ids of jobs; None without a hub.
        read_elsewhere: Returns what `parse_elsewhere` takes.
        others: Titles of the clusters besides this session's; "" if there are none to ask for.
    """

    def __init__(
        self,
        queue: JobQueue,
        runs: Runs,
        read_places: ReadPlaces | None = None,
        read_elsewhere: ReadElsewhere | None = None,
        others: str = "",
    ) -> None:
        self.queue = queue
        self.runs = runs
        self._read_places = read_places
        self._read_elsewhere = read_elsewhere
        self._others = others

    async def as_json(self) -> dict[str, Any]:
        """Return the rows, and in words why jobs are missing, or "" if none are.

        "problem" is of this session's cluster, "missing" of the others.
        """
        (jobs, problem), (others, missing) = await asyncio.gather(
            self._list_here(), self._list_elsewhere()
        )
        views = await self.runs.list_runs(jobs=None if jobs is None else [*jobs, *others])
        return {
            "rows": [row.as_json() for row in join_rows([*(jobs or ()), *others], views)],
            "problem": problem,
            "missing": missing,
        }

    async def _list_here(self) -> tuple[list[SlurmJob] | None, str]:
        try:
            return await self._with_places(await self.queue.list_jobs()), ""
        except SlurmError as error:
            # Runs have folders, which are there without Slurm.
            return None, error.message

    async def _list_elsewhere(self) -> tuple[list[SlurmJob], str]:
        if self._read_elsewhere is None or not self._others:
            return [], ""
        why = "The hub does not tell of them."
        try:
            if told := await self._read_elsewhere():
                return parse_elsewhere(told)
        except PortalError as error:
            why = error.message
        return [], f"Your jobs on {self._others} are not known: {why}"

    async def _with_places(self, jobs: list[SlurmJob]) -> list[SlurmJob]:
        waiting = [job for job in jobs if job.phase == "waiting"][:_MOST_PLACES]
        if self._read_places is None or not waiting:
            return jobs
        # Tasks of an array have its place.
        numbers = {job.id: int(job.id.partition("_")[0].partition("+")[0]) for job in waiting}
        places = await self._read_places(sorted({*numbers.values()}))
        return [replace(job, place=places.get(numbers.get(job.id, 0), "")) for job in jobs]


def join_rows(jobs: Sequence[SlurmJob], runs: Sequence[RunView]) -> list[Row]:
    """Return what waits, then what runs, then what is over, each with the newest first.

    Tasks of an array follow its row.

    Args:
        jobs: In Slurm's order, which those that wait keep.
        runs: The newest first.
    """
    by_id = {job.id: job for job in jobs}
    rows = [Row(job=find_job(run.record, by_id), run=run) for run in runs]
    joined = {row.job.id for row in rows if row.job is not None}
    rows += [Row(job=job, run=None) for job in jobs if job.id not in joined]
    tasks: dict[str, list[Row]] = {}
    for row in rows:
        tasks.setdefault("" if row.job is None else row.job.array, []).append(row)
    ordered = sorted(tasks.pop("", []), key=lambda row: (row.is_over, -row.at_s))
    return [
        each
        for row in ordered
        for each in (row, *(tasks.get(row.job.id, ()) if row.job is not None else ()))
    ]
