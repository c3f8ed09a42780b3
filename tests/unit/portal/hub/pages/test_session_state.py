"""What the server page says of a session in each of its states."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from markupsafe import Markup

from dsportal.slurm.states import JobState
from portal.hub.pages.session_state import describe_request, describe_session
from portal.hub.pages.suspension import describe_suspensions
from spawner.session.progress import Fact, Progress
from spawner.session.queue_status import EXPECTED_START, QUEUE_PLACE
from spawner.session.session import Session
from spawner.session.session_end import JobEndedError, SessionEnd
from spawner.session.spawn_error import StartFailedError
from spawner.slurm.jobs import JobKey, JobRecord

SESSION = Session(session_id="0", user="ada", n_gpus=2, walltime_s=28800, job_id=17)


def record(state: JobState, *, node: str = "node01", ends_at: str = "2026-11-20T22:00:00") -> Any:
    key = JobKey(job_id=17, user="ada", name="dsportal-0")
    return JobRecord(
        key=key, state=state, node=node, starts_at="", ends_at=ends_at, comment="", reason="None"
    )


def spawner(**changes: Any) -> Any:
    known: dict[str, Any] = {
        "active": True,
        "pending": None,
        "session": SESSION,
        "job_record": record(JobState.RUNNING),
        "left_s": (7 * 60 + 40) * 60,
        "simulated_gpus": False,
        "is_suspended": False,
        "has_other_authority": False,
        "ending": None,
        "user_options": {},
        "start_progress": Progress(),
    }
    return SimpleNamespace(**known | changes)


def facts(view: Any) -> dict[str, str]:
    """Return values and small print as they are read."""
    return {
        fact.name: Markup(f"{fact.value} {fact.detail}").striptags().strip() for fact in view.facts
    }


def test_a_running_session_shows_gpus_node_time_left_and_job() -> None:
    view = describe_session(spawner(), datetime(2026, 11, 20, 14, 20))

    assert view.state == "Running"
    assert not view.is_changing
    assert facts(view) == {
        "GPUs": "2",
        "Node": "node01",
        "Time left": "7 h 40 min until 22:00",
        "Slurm job": "17",
    }


def test_a_session_that_an_administrator_has_suspended_says_so() -> None:
    view = describe_session(spawner(is_suspended=True))

    assert (view.state, view.tone) == ("Suspended", "wait")
    assert view.sentence.startswith("An administrator has suspended this session.")
    assert view.is_changing, "the page looks again until it is resumed"
    assert facts(view)["Node"] == "node01"


def test_every_page_names_the_sessions_that_are_suspended() -> None:
    spawners = {
        "": spawner(is_suspended=True),
        "more": spawner(is_suspended=True),
        "runs": spawner(),
        "stops": spawner(is_suspended=True, pending="stop"),
        "over": spawner(is_suspended=True, active=False),
    }

    words = describe_suspensions(SimpleNamespace(spawners=spawners))

    assert [text.partition(". ")[0] for text in words] == [
        "An administrator has suspended this session",
        "An administrator has suspended the session more",
    ]
    assert describe_suspensions(None) == []


def test_simulated_gpus_are_called_so() -> None:
    assert facts(describe_session(spawner(simulated_gpus=True)))["GPUs"] == "2 simulated"
    assert describe_request(spawner(simulated_gpus=True)) == "2 simulated GPUs for 8 hours"


def test_a_session_in_the_queue_has_no_node_and_no_time_left_yet() -> None:
    waiting = record(JobState.PENDING, node="")

    view = describe_session(spawner(pending="spawn", job_record=waiting))

    assert view.state == "Starting"
    assert view.is_changing
    assert facts(view) == {"GPUs": "2", "Slurm job": "17"}


async def test_a_start_that_stands_in_line_is_told_its_place() -> None:
    progress = Progress()
    progress.stand_in_line("Your start is number 7 of 20 in line.")

    view = describe_session(spawner(pending="spawn", start_progress=progress))

    assert (view.state, view.sentence) == ("Starting", "Your start is number 7 of 20 in line.")
    progress.add_step("submitted", 10, "Job 17 was submitted.")
    view = describe_session(spawner(pending="spawn", start_progress=progress))
    assert view.sentence == "The session is starting."


async def test_a_session_that_waits_says_why_and_when_it_is_expected_to_start() -> None:
    progress = Progress()
    progress.add_step("submitted", 10, "Job 17 was submitted.")
    progress.add_step("queued", 30, "All GPUs of this size are taken.")
    progress.show(
        Fact(name="Submitted", text="{0}", times=(1_795_000_000.0,)),
        Fact(name=QUEUE_PLACE, text="about 3 jobs before it"),
        Fact(name=EXPECTED_START, text="about {0}", times=(1_795_003_600.0,)),
    )
    now = datetime.fromtimestamp(1_795_000_060, UTC)
    waiting = record(JobState.PENDING, node="")

    view = describe_session(
        spawner(pending="spawn", start_progress=progress, job_record=waiting), now
    )

    assert (view.state, view.sentence) == ("Waiting", "All GPUs of this size are taken.")
    assert facts(view) == {
        "GPUs": "2",
        "Place in the queue": "about 3 jobs before it",
        "Expected start": "about 12:06 UTC",
        "Slurm job": "17",
    }
    assert not progress.is_read, "nobody asks for the queue because of the home page"


def test_a_session_of_which_slurm_has_not_told_yet_shows_what_is_known() -> None:
    assert facts(describe_session(spawner(job_record=None))) == {
        "GPUs": "2",
        "Slurm job": "17",
    }
    assert describe_session(spawner(session=None, job_record=None)).facts == ()
    assert describe_request(spawner(session=None)) == ""


def test_an_unreadable_end_leaves_the_hour_out_and_an_unknown_one_the_time_left() -> None:
    odd = record(JobState.RUNNING, ends_at="")

    assert facts(describe_session(spawner(job_record=odd)))["Time left"] == "7 h 40 min"
    assert "Time left" not in facts(describe_session(spawner(left_s=None)))


def test_the_home_page_tells_of_a_start_that_failed() -> None:
    error = StartFailedError(
        JobEndedError("The node failed. Start again.", next_step="Start again.")
    )

    view = describe_session(spawner(active=False, _failed=error))

    assert view.state == "Not running"
    assert view.sentence == "The last start failed: The node failed."
    assert view.has_failed
    assert not view.has_ended


def test_the_home_page_tells_why_a_session_ended_that_nobody_had_stopped() -> None:
    error = JobEndedError("The time is over. Start again.", next_step="Start again.")
    ending = SessionEnd(at=1_795_000_000.0, error=error)

    view = describe_session(spawner(active=False, ending=ending))

    assert view.sentence == "The last session has ended: The time is over."
    assert (view.has_ended, view.ended_at) == (True, 1_795_000_000.0)
    assert not view.has_failed


@pytest.mark.parametrize(
    ("active", "pending", "state"),
    [(False, None, "Not running"), (True, "stop", "Stopping"), (True, "spawn", "Starting")],
)
def test_every_state_has_a_word(active: bool, pending: str | None, state: str) -> None:
    assert describe_session(spawner(active=active, pending=pending)).state == state


def test_a_session_of_another_authority_has_to_be_started_again() -> None:
    view = describe_session(spawner(has_other_authority=True))

    assert view.state == "Unreachable"
    assert "started under another certificate authority" in view.sentence
    assert "start it again" in view.sentence
    # One that starts now gets the present one.
    assert describe_session(spawner(has_other_authority=True, pending="spawn")).state != view.state
