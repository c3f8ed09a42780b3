"""A job that Slurm runs again: what squeue says, seen between two queries or not."""

from types import SimpleNamespace
from typing import Any

import pytest

from dsportal.slurm.states import JobState
from spawner.session.requeue import RunOfJob


def said(state: JobState, n_restarts: int = 0, *, starts_at: str = "2026-11-23T10:00:00") -> Any:
    return SimpleNamespace(state=state, n_restarts=n_restarts, starts_at=starts_at)


def test_a_run_that_goes_on_is_the_same() -> None:
    run = RunOfJob()

    assert not run.note(None)
    assert not run.note(said(JobState.RUNNING, 2))
    assert not run.note(said(JobState.RUNNING, 2))


def test_a_start_that_is_printed_in_another_time_zone_is_the_same_run() -> None:
    run = RunOfJob()
    run.note(said(JobState.RUNNING))

    assert not run.note(said(JobState.RUNNING, starts_at="2026-11-23T05:00:00"))


@pytest.mark.parametrize("state", [JobState.PENDING, JobState.REQUEUED, JobState.REQUEUE_HOLD])
def test_a_job_that_waits_again_has_ended_its_run(state: JobState) -> None:
    run = RunOfJob()
    run.note(said(JobState.RUNNING))

    assert run.note(said(state))


def test_a_run_that_began_again_between_two_queries_is_another() -> None:
    run = RunOfJob()
    run.note(said(JobState.RUNNING))

    assert run.note(said(JobState.RUNNING, 1))
    # Told once.
    assert not run.note(said(JobState.RUNNING, 1))


def test_the_next_run_is_awaited_after_one_is_lost() -> None:
    run = RunOfJob()
    run.note(said(JobState.RUNNING))
    run.forget()

    assert not run.note(said(JobState.RUNNING, 1))


def test_what_neither_waits_nor_runs_tells_nothing_of_the_run() -> None:
    run = RunOfJob()
    run.note(said(JobState.RUNNING))

    assert not run.note(said(JobState.COMPLETING, 1))
    assert not run.note(said(JobState.RUNNING))
