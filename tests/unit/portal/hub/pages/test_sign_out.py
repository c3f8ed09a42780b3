"""What the page says of the sessions that remain after signing out."""

from portal.hub.pages.session_state import SessionView
from portal.hub.pages.sign_out import describe_remaining

RUNS = SessionView(state="Running", tone="good", sentence="")
WAITS = SessionView(state="Waiting", tone="wait", sentence="", is_queued=True)


def test_a_session_that_runs_keeps_running_and_holds_its_gpus():
    words = describe_remaining([RUNS])

    assert words.lead.startswith("Your session keeps running")
    assert words.keep == "Sign out and keep it running"
    assert words.stop == "Stop it and sign out"


def test_a_session_that_waits_is_not_said_to_run():
    words = describe_remaining([WAITS])

    assert words.lead.startswith("Your session keeps its place in the queue")
    assert "running" not in f"{words}"
    assert words.stop == "Cancel it and sign out"


def test_of_several_sessions_those_that_wait_are_told_apart():
    assert "those that wait start" in describe_remaining([RUNS, WAITS]).lead
    assert "wait" not in describe_remaining([RUNS, RUNS]).lead
