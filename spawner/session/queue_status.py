"""Live status of a starting session: queue position, expected start, node."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import datetime

from dsportal.amounts import count
from dsportal.slurm.states import Phase
from spawner.client.queue import QueuePlace
from spawner.session.cluster import Cluster
from spawner.session.end_reason import add_state_step
from spawner.session.limit_numbers import situation_of_wait
from spawner.session.progress import Fact, Progress
from spawner.session.session_job import SessionJob
from spawner.slurm.jobs import JobRecord

EXPECTED_START = "Expected start"
QUEUE_PLACE = "Place in the queue"
_PAUSE_S = 2.0
# Slurm's forecast moves by seconds all the time; that is no news.
_SAME_S = 60.0
NO_ANSWER = (
    "Slurm is not responding. Nothing is lost: the job keeps its place in the queue, and this "
    "page continues as soon as Slurm responds."
)


@contextlib.asynccontextmanager
async def keep_status_current(
    job: SessionJob, cluster: Cluster, *, gpus: str
) -> AsyncIterator[None]:
    """Keep the facts on the page up to date meanwhile."""
    task = asyncio.ensure_future(_follow(job, cluster, gpus))
    try:
        yield
    finally:
        task.cancel()


async def _follow(job: SessionJob, cluster: Cluster, gpus: str) -> None:
    progress = job.progress
    while True:
        record, watcher = job.record, cluster.watcher
        note_forecast(progress, record)
        place = None
        # The queue is all pending jobs of the cluster: nobody reads it for a page that nobody sees.
        if progress.is_read and is_waiting(record):
            place = await cluster.queue.place(job.session.job_id)
        silent_since = watcher.answered_at if watcher.is_silent else None
        progress.show(*status_facts(progress, record, place, silent_since=silent_since))
        last = progress.last
        if last is not None and watcher.is_silent:
            progress.add_step(last.name, last.percent, NO_ANSWER)
        # Slurm answers again, so the page says once more what the job waits for.
        elif last is not None and last.message == NO_ANSWER:
            situation = await situation_of_wait(cluster, job.session, record)
            add_state_step(progress, record, situation, gpus=gpus)
        await asyncio.sleep(_PAUSE_S)


def is_waiting(record: JobRecord | None) -> bool:
    """Return whether a job is known to wait in the queue; false if nothing is known."""
    return record is not None and record.state.phase is Phase.WAITING


def note_forecast(progress: Progress, record: JobRecord | None) -> None:
    """Remember in `progress` when Slurm first expected the job to start."""
    if record is not None and is_waiting(record) and not progress.expected_at:
        progress.expected_at = slurm_time_s(record.starts_at)


def status_facts(
    progress: Progress,
    record: JobRecord | None,
    place: QueuePlace | None,
    *,
    silent_since: float | None,
    now: float | None = None,
) -> list[Fact]:
    """Return the current facts, in the order in which they are shown.

    Args:
        silent_since: When Slurm answered last, in seconds since 1970 (UTC), 0 for never; None if
            it answers.
        now: Current time, in seconds since 1970 (UTC); None for the real one.
    """
    now = time.time() if now is None else now
    facts = []
    if progress.submitted_at:
        facts.append(Fact(name="Submitted", text="{0}", times=(progress.submitted_at,)))
    if record is not None and is_waiting(record):
        if place is not None:
            facts.append(Fact(name=QUEUE_PLACE, text=format_place(place)))
        facts.append(expected_start(slurm_time_s(record.starts_at), progress.expected_at, now))
    elif record is not None and record.state.phase is Phase.RUNNING:
        facts.append(Fact(name="Node", text=record.node))
        started_at = slurm_time_s(record.starts_at)
        if started_at:
            facts.append(Fact(name="Started", text="{0}", times=(started_at,)))
    if record is not None:
        facts.append(Fact(name="Slurm job", text=str(record.key.job_id)))
    if silent_since is not None:
        facts.append(_silence(silent_since))
    return facts


def format_place(place: QueuePlace) -> str:
    """Return a place in the queue, for example "about 3 jobs before it, 1 of them a session"."""
    if place.n_jobs == 0:
        return "at the front"
    words = f"about {count(place.n_jobs, 'job')} before it"
    if place.n_sessions == 0:
        return words
    if place.n_jobs == 1:
        return f"{words}, a session"
    if place.n_sessions == place.n_jobs:
        return f"{words}, all of them sessions"
    sessions = "a session" if place.n_sessions == 1 else "sessions"
    return f"{words}, {place.n_sessions} of them {sessions}"


def expected_start(starts_at: float, first: float, now: float) -> Fact:
    """Return when a job is expected to start, and how that has moved.

    Args:
        starts_at: When Slurm expects it now, in seconds since 1970 (UTC); 0 if not known.
        first: When Slurm first expected it, likewise.
    """
    if not starts_at:
        return Fact(name=EXPECTED_START, text="Slurm has not said yet")
    text = "any moment" if starts_at <= now + _SAME_S else "about {0}"
    if abs(starts_at - first) < _SAME_S or not first:
        return Fact(name=EXPECTED_START, text=text, times=(starts_at,))
    return Fact(
        name=EXPECTED_START, text=f"now {text}; was {{1}} at first", times=(starts_at, first)
    )


def slurm_time_s(moment: str) -> float:
    """Return a time of Slurm in seconds since 1970 (UTC), or 0 if the text is no time.

    Args:
        moment: Local time such as "2026-11-20T20:33:00". Slurm's commands print it in the time
            zone of the process that runs them, which is the hub's own.
    """
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return 0.0


def _silence(since: float) -> Fact:
    if not since:
        return Fact(name="Slurm", text="has not responded yet", is_problem=True)
    return Fact(name="Slurm", text="last responded {0}", times=(since,), is_problem=True)
