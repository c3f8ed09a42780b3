"""Arrays of jobs: one row for each, with the number of its tasks in each state."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from dsportal.slurm.arrays import tasks_of
from portal.server.jobs.job import Action, SlurmJob

# Tasks of one array that are listed below it.
N_TASKS = 10
_TASK = re.compile(r"(?P<array>[0-9]+)_(?:[0-9]+|\[[^\]]*\])", re.ASCII)

Row = TypeVar("Row")
Counts = Mapping[str, Counter[str]]


def array_of(job_id: str) -> str:
    """Return the id of the array whose task, or whose waiting tasks, `job_id` names; or ""."""
    match = _TASK.fullmatch(job_id)
    return "" if match is None else match["array"]


def count_tasks(states: Iterable[tuple[str, str]]) -> Counts:
    """Count the tasks of each array of two or more in each state."""
    counts: dict[str, Counter[str]] = {}
    for job_id, state in states:
        if array := array_of(job_id):
            counts.setdefault(array, Counter())[state.lower()] += len(tasks_of(job_id))
    return {array: counted for array, counted in counts.items() if counted.total() > 1}


def newest(rows: Sequence[Row], ids: Sequence[str], counts: Counts, most: int) -> list[Row]:
    """Return the last rows first: at most `most` jobs and arrays, of each array N_TASKS tasks.

    Args:
        rows: The oldest first.
        ids: Of the job of each row.
        counts: From `count_tasks`.
    """
    found: list[Row] = []
    n_of: Counter[str] = Counter()
    for row, job_id in zip(reversed(rows), reversed(ids), strict=True):
        array = array_of(job_id)
        key = array if array in counts else job_id
        if n_of[key] < N_TASKS and (key in n_of or len(n_of) < most):
            n_of[key] += 1
            found.append(row)
    return found


def fold(jobs: Sequence[SlurmJob], counts: Counts) -> list[SlurmJob]:
    """Return the jobs with a row for each array before the first of its tasks."""
    tasks: dict[str, list[SlurmJob]] = {}
    for job in jobs:
        array = array_of(job.id)
        tasks.setdefault(array if array in counts else job.id, []).append(job)
    folded: list[SlurmJob] = []
    for key, group in tasks.items():
        if key in counts:
            folded.append(_row_of_array(key, group, counts[key]))
            group = [replace(job, array=key) for job in group[:N_TASKS]]
        folded += group
    return folded


def _row_of_array(array: str, tasks: Sequence[SlurmJob], counted: Counter[str]) -> SlurmJob:
    def first(phase: str) -> SlurmJob | None:
        return next((task for task in tasks if task.phase == phase), None)

    waiting = first("waiting")
    told = first("running") or waiting or first("failed") or tasks[0]
    states = ", ".join(f"{n} {state}" for state, n in counted.items())
    return replace(
        told,
        id=array,
        tasks=f"{counted.total()} tasks: {states}.",
        elapsed="",
        nodes="",
        starts_at="",
        # What holds of the array holds of its waiting tasks.
        actions=() if waiting is None else tuple(a for a in waiting.actions if a in _OF_ARRAYS),
        reason="" if waiting is None else waiting.reason,
    )


_OF_ARRAYS = {Action.HOLD, Action.RELEASE}
