"""What administrators see of everybody's sessions."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from dsportal.slurm.states import JobState
from portal.hub.pages.all_sessions import describe_administration, list_sessions
from spawner.session.session import Session
from spawner.slurm.jobs import JobKey, JobRecord
from tests.support.session_rows import session_row

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_the_idlest_session_comes_first_and_idle_gpus_are_counted() -> None:
    rows = [
        session_row("ada", n_gpus=4),
        session_row("linus", state="waiting", node="", idle_s=None, n_gpus=8),
        session_row("grace", idle_s=7200.0, n_gpus=2),
    ]

    view = describe_administration(rows)

    assert [r.user for r in view.rows] == ["grace", "ada", "linus"]
    assert (view.n_running, view.n_waiting, view.n_gpus) == (2, 1, 6)
    assert (view.n_idle, view.n_idle_gpus, view.idle_after) == (1, 2, "1 hour")


def spawner(**changes: Any) -> Any:
    """Return a spawner that notes nothing and has no way to Slurm."""
    known: dict[str, Any] = {
        "active": True,
        "ready": True,
        "pending": None,
        "is_suspended": False,
        "session": Session(session_id="0", user="ada", n_gpus=2, job_id=7, partition="jupyter"),
        "job_record": JobRecord(
            key=JobKey(job_id=7, user="ada", name="dsportal-0"),
            state=JobState.RUNNING,
            node="node01",
            starts_at=f"{(NOW - timedelta(hours=3)).astimezone():%Y-%m-%dT%H:%M:%S}",
            comment="",
            reason="None",
        ),
        "left_s": 5 * 3600,
        "orm_spawner": SimpleNamespace(
            last_activity=(NOW - timedelta(hours=2)).replace(tzinfo=None)
        ),
    }
    return SimpleNamespace(**known | changes)


def users(*spawners: Any) -> list[Any]:
    return [SimpleNamespace(name=f"user{n}", spawners={"": one}) for n, one in enumerate(spawners)]


def test_a_running_session_tells_since_when_and_how_long_it_is_idle() -> None:
    (found,) = list_sessions(users(spawner(), spawner(active=False)), NOW)

    assert (found.user, found.n_gpus, found.node, found.state) == ("user0", 2, "node01", "running")
    assert (found.since, found.use) == ("3 h", "idle for 2 h")
    assert (found.left, found.gpu_hours, found.partition) == ("5 h", "6.0", "jupyter")


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"pending": "stop"}, "stopping"),
        ({"is_suspended": True}, "suspended"),
        ({"pending": "spawn", "ready": False}, "starting"),
        ({"pending": "spawn", "ready": False, "job_record": None}, "waiting"),
        ({"pending": "spawn", "ready": False, "job_record": None, "session": None}, "waiting"),
    ],
)
def test_a_session_that_does_not_run_yet_has_its_state(changes: Any, state: str) -> None:
    (found,) = list_sessions(users(spawner(**changes)), NOW)

    assert found.state == state


def test_a_waiting_session_is_as_old_as_its_job() -> None:
    waiting = spawner(
        ready=False,
        pending="spawn",
        job_record=None,
        session=Session(session_id="0", user="ada", submitted_at=NOW.timestamp() - 600),
    )

    (found,) = list_sessions(users(waiting), NOW)

    assert (found.since_s, found.idle_s) == (600, None)
    assert (found.left, found.gpu_hours) == ("", "")
