"""A job that Slurm runs again: what squeue says, seen between two queries or not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from spawner.session.requeue import RunOfJob
from spawner.slurm.states import JobState

EARLY, LATE = "2026-11-23T10:00:00", "2026-11-23T10:05:00"


def said(state: JobState, starts_at: str = "") -> Any:
    return SimpleNamespace(state=state, starts_at=starts_at)


def test_a_run_that_goes_on_is_the_same() -> None:
    run = RunOfJob()

    assert not run.note(None)
    assert not run.note(said(JobState.RUNNING, EARLY))
    assert not run.note(said(JobState.RUNNING, EARLY))


def test_a_job_that_waits_again_has_ended_its_run() -> None:
    run = RunOfJob()
    run.note(said(JobState.RUNNING, EARLY))

    assert run.note(said(JobState.PENDING))


def test_a_run_that_began_again_between_two_queries_is_another() -> None:
    run = RunOfJob()
    run.note(said(JobState.RUNNING, EARLY))

    assert run.note(said(JobState.RUNNING, LATE))
    # Told once.
    assert not run.note(said(JobState.RUNNING, LATE))


def test_the_next_run_is_awaited_after_one_is_lost() -> None:
    run = RunOfJob()
    run.note(said(JobState.RUNNING, EARLY))
    run.forget()

    assert not run.note(said(JobState.RUNNING, LATE))


def test_what_neither_waits_nor_runs_tells_nothing_of_the_run() -> None:
    run = RunOfJob()
    run.note(said(JobState.RUNNING, EARLY))

    assert not run.note(said(JobState.COMPLETING, LATE))
    assert not run.note(said(JobState.RUNNING))
    assert not run.note(said(JobState.RUNNING, EARLY))
