"""What the page of a failed start or an ended session makes of the way it ended."""

from types import SimpleNamespace
from typing import Any

import pytest

from dsportal.slurm.states import JobState
from portal.hub.pages.failure_view import FailureView, describe_ending, describe_failure
from spawner.session.session_end import JobEndedError, SessionEnd
from spawner.session.spawn_error import StartFailedError
from spawner.slurm.jobs import JobEnd

AGAIN = "Start a new session."


def error(state: JobState, next_step: str = AGAIN) -> JobEndedError:
    return JobEndedError(f"It ended. {next_step}", next_step=next_step, end=JobEnd(state=state))


def ended(state: JobState, next_step: str = AGAIN) -> FailureView:
    ending = SessionEnd(at=1_795_000_000.0, error=error(state, next_step))
    spawner: Any = SimpleNamespace(ending=ending, user_options={})
    view = describe_ending(spawner)
    assert view is not None
    return view


@pytest.mark.parametrize(
    ("state", "is_expected"),
    [
        (JobState.TIMEOUT, True),
        (JobState.COMPLETED, True),
        (JobState.NODE_FAIL, False),
        (JobState.CANCELLED, False),
    ],
)
def test_a_session_that_ended_as_sessions_do_is_no_problem(
    state: JobState, is_expected: bool
) -> None:
    view = ended(state)

    assert view.is_expected is is_expected
    # "TIMEOUT, Signal 9" looks like a fault.
    assert ("State in Slurm" in dict(view.facts)) is not is_expected


def test_a_start_that_failed_is_a_problem_however_its_job_ended() -> None:
    failed = StartFailedError(error(JobState.TIMEOUT))

    view = describe_failure(failed, SimpleNamespace(user_options={}))

    assert view is not None
    assert not view.is_expected


def test_who_has_to_ask_the_administrators_is_not_told_to_try_again_first() -> None:
    assert ended(JobState.CANCELLED, "Ask the administrators why.").needs_help
    assert not ended(JobState.CANCELLED).needs_help
