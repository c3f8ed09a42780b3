"""The end of a session in use, as the hub's database keeps it."""

import json

import pytest

from dsportal.slurm.states import JobState
from spawner.session.session_end import JobEndedError, SessionEnd
from spawner.slurm.jobs import JobEnd

END = JobEnd(state=JobState.CANCELLED, node="node01", reason="None", cancelled_by_uid=0)


@pytest.mark.parametrize("end", [END, None])
def test_an_ending_outlives_a_restart_of_the_hub(end: JobEnd | None) -> None:
    error = JobEndedError("It ended. Start again.", next_step="Start again.", end=end, job_id=17)
    saved = json.dumps(SessionEnd(at=1.5, error=error, log_lines="bye").to_state())

    ending = SessionEnd.from_state(json.loads(saved))

    assert ending is not None
    assert (ending.at, ending.log_lines) == (1.5, "bye")
    assert vars(ending.error) == vars(error)


def test_what_another_release_kept_is_read_as_far_as_it_is_known() -> None:
    saved = {"message": "It ended.", "end": {"state": "ASLEEP", "node": "node01", "shift": 3}}

    ending = SessionEnd.from_state({"ending": saved})

    assert ending is not None
    assert ending.error.message == "It ended."
    assert ending.error.end == JobEnd(state=JobState.UNKNOWN, node="node01")


def test_a_session_that_nobody_used_is_told_so() -> None:
    ending = SessionEnd.of_idle(17)

    assert ending.error.message.startswith("The session was stopped because it was idle")
    assert ending.error.message.endswith(ending.error.next_step)
    assert ending.error.job_id == 17


def test_a_session_whose_job_went_back_into_the_queue_is_told_so() -> None:
    ending = SessionEnd.of_requeue(17)

    assert "put it back into the queue" in ending.error.message
    assert ending.error.message.endswith(ending.error.next_step)
    assert ending.error.job_id == 17


@pytest.mark.parametrize("state", [{}, {"ending": None}, {"session": {"session_id": "0"}}])
def test_a_state_without_an_ending_has_none(state: dict[str, object]) -> None:
    assert SessionEnd.from_state(state) is None
