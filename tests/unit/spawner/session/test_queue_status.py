"""What the waiting page says of this moment: place, expected start, node, and Slurm's silence."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from dsportal.slurm.states import JobState
from spawner.client.queue import QueuePlace
from spawner.session.progress import Progress
from spawner.session.queue_status import (
    NO_ANSWER,
    expected_start,
    format_place,
    keep_status_current,
    note_forecast,
    slurm_time_s,
    status_facts,
)
from spawner.session.session import Session
from spawner.slurm.jobs import JobKey, JobRecord
from tests.support.eventually import eventually_async

NOW = 1_000_000.0


@pytest.fixture(params=["Europe/Berlin", "America/Los_Angeles", "UTC"])
def time_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def record(state: JobState, *, starts_at: str = "", node: str = "") -> JobRecord:
    key = JobKey(job_id=17, user="ada", name="dsportal-0")
    return JobRecord(
        key=key, state=state, node=node, starts_at=starts_at, comment="", reason="Resources"
    )


def facts(*arguments: Any, **changes: Any) -> dict[str, str]:
    found = status_facts(*arguments, **{"silent_since": None, "now": NOW, **changes})
    return {fact.name: fact.text for fact in found}


def started() -> Progress:
    progress = Progress(clock=lambda: NOW)
    progress.add_step("submitted", 10, "Job 17 is submitted.")
    return progress


@pytest.mark.parametrize(
    ("n_jobs", "n_sessions", "words"),
    [
        (0, 0, "at the front"),
        (1, 0, "about 1 job before it"),
        (1, 1, "about 1 job before it, a session"),
        (3, 1, "about 3 jobs before it, 1 of them a session"),
        (3, 2, "about 3 jobs before it, 2 of them sessions"),
        (3, 3, "about 3 jobs before it, all of them sessions"),
    ],
)
def test_a_place_is_told_in_words(n_jobs: int, n_sessions: int, words: str) -> None:
    assert format_place(QueuePlace(n_jobs=n_jobs, n_sessions=n_sessions)) == words


@pytest.mark.parametrize(
    ("starts_in_s", "first_in_s", "text"),
    [
        (None, None, "Slurm has not said yet"),
        (600, 600, "about {0}"),
        (600, 630, "about {0}"),
        (1800, 600, "now about {0}; was {1} at first"),
        (20, 20, "any moment"),
        (20, 600, "now any moment; was {1} at first"),
    ],
)
def test_the_expected_start_says_how_it_has_moved(
    starts_in_s: float | None, first_in_s: float | None, text: str
) -> None:
    starts_at = 0.0 if starts_in_s is None else NOW + starts_in_s
    first = 0.0 if first_in_s is None else NOW + first_in_s

    fact = expected_start(starts_at, first, NOW)

    assert fact.text == text
    if starts_in_s is not None:
        assert fact.times[0] == starts_at


def test_slurms_local_time_is_that_of_the_hub_whatever_its_time_zone(time_zone: str) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(NOW))

    assert slurm_time_s(moment) == NOW
    assert slurm_time_s("") == 0.0


def test_the_first_forecast_is_kept() -> None:
    progress = Progress()
    note_forecast(progress, record(JobState.PENDING))
    assert progress.expected_at == 0

    note_forecast(progress, record(JobState.PENDING, starts_at="2026-11-20T20:00:00"))
    note_forecast(progress, record(JobState.PENDING, starts_at="2026-11-20T21:00:00"))

    assert progress.expected_at == slurm_time_s("2026-11-20T20:00:00")


def test_a_waiting_job_has_a_place_and_no_node() -> None:
    waiting = record(JobState.PENDING)

    assert facts(started(), waiting, QueuePlace(n_jobs=1, n_sessions=0)) == {
        "Submitted": "{0}",
        "Place in the queue": "about 1 job before it",
        "Expected start": "Slurm has not said yet",
        "Slurm job": "17",
    }


def test_a_running_job_has_a_node_and_no_place() -> None:
    running = record(JobState.RUNNING, node="node01", starts_at="2026-11-20T20:00:00")

    assert facts(started(), running, None) == {
        "Submitted": "{0}",
        "Node": "node01",
        "Started": "{0}",
        "Slurm job": "17",
    }


def test_a_silent_slurm_is_named_with_the_time_of_its_last_answer() -> None:
    assert facts(started(), None, None, silent_since=NOW)["Slurm"] == "last responded {0}"
    assert facts(started(), None, None, silent_since=0.0)["Slurm"] == "has not responded yet"


async def test_the_log_says_that_slurm_is_silent_and_why_the_job_waits_once_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spawner.session.queue_status._PAUSE_S", 0.001)
    progress = started()
    watcher = SimpleNamespace(is_silent=True, answered_at=NOW)
    cluster: Any = SimpleNamespace(watcher=watcher, catalog=SimpleNamespace(latest=lambda: None))
    job: Any = SimpleNamespace(
        progress=progress,
        record=record(JobState.PENDING),
        session=Session(session_id="0", user="ada", n_gpus=1, job_id=17),
    )

    async def last() -> str:
        return progress.last.message if progress.last else ""

    async def silence_is_told() -> bool:
        return await last() == NO_ANSWER

    async def reason_is_told() -> bool:
        return await last() not in {"", NO_ANSWER}

    async with keep_status_current(job, cluster, gpus="1 GPU"):
        await eventually_async(silence_is_told, 5, every_s=0.01)
        watcher.is_silent = False
        await eventually_async(reason_is_told, 5, every_s=0.01)
