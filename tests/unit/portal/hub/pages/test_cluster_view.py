"""The cluster page: counts, waiting sessions, idle ones, and what it costs with a thousand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from portal.hub.pages.cluster_handlers import offered
from portal.hub.pages.cluster_view import (
    SessionRow,
    describe_accuracy,
    describe_cluster,
    list_sessions,
)
from spawner.forecast.accuracy import Accuracy
from spawner.session.session import Session
from spawner.slurm.catalog import Catalog
from spawner.slurm.jobs import JobKey, JobRecord
from spawner.slurm.states import JobState

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def sinfo(
    name: str,
    *,
    state: str = "mixed",
    gres: str = "gpu:v100:4",
    used: str = "gpu:v100:1(IDX:0)",
    cores: int = 8,
    partition: str = "jupyter",
) -> str:
    return (
        f"{partition}|{partition}*|up|1-00:00:00|UNLIMITED|{name}|10.77.0.1|{state}|"
        f"{cores}/0/0/40|384000|0|{gres}|{used}|\n"
    )


def row(name: str, **changes: Any) -> SessionRow:
    known: dict[str, Any] = {
        "user": name,
        "name": "",
        "n_gpus": 1,
        "node": "node01",
        "state": "running",
        "since_s": 60.0,
        "idle_s": 0.0,
        "job_id": 7,
    }
    return SessionRow(**known | changes)


def test_gpus_are_counted_by_type_and_those_of_nodes_that_are_down_apart() -> None:
    catalog = Catalog.parse(
        sinfo("node01")
        + sinfo("node02", state="down", used="gpu:v100:0(IDX:N/A)", cores=0)
        + sinfo("node03", gres="gpu:a100:2", used="gpu:a100:2(IDX:0-1)")
        + sinfo("node04", gres="(null)", used="(null)")
    )

    view = describe_cluster([], catalog=catalog)

    counts = {r.name: (r.total, r.free, r.used, r.down) for r in view.gpus}
    assert counts == {"a100": (2, 0, 2, 0), "v100": (8, 3, 1, 4)}
    assert view.cores is not None
    assert (view.cores.total, view.cores.used, view.cores.down) == (160, 24, 40)


def test_partitions_that_are_not_offered_do_not_count() -> None:
    catalog = Catalog.parse(sinfo("node01") + sinfo("node09", partition="secret"))

    view = describe_cluster([], catalog=offered(catalog, ["jupyter"]))

    assert [r.total for r in view.gpus] == [4]
    assert [r.total for r in describe_cluster([], catalog=offered(catalog, [])).gpus] == [8]


def test_waiting_sessions_are_counted_with_the_oldest() -> None:
    rows = [
        row("ada", state="waiting", since_s=600, idle_s=None),
        row("grace", state="waiting", since_s=7500, idle_s=None),
        row("linus"),
    ]

    view = describe_cluster(rows, catalog=None, problem="Slurm did not answer.")

    assert (view.n_sessions, view.n_waiting, view.oldest) == (1, 2, "2 h 5 min")
    assert view.problem == "Slurm did not answer."


def test_only_administrators_see_whose_sessions_these_are_the_idlest_first() -> None:
    rows = [row("ada", n_gpus=4), row("grace", idle_s=7200.0, n_gpus=2)]

    assert describe_cluster(rows, catalog=None).rows == ()
    view = describe_cluster(rows, catalog=None, is_admin=True, idle_after_s=3600.0)

    assert [r.user for r in view.rows] == ["grace", "ada"]
    assert (view.n_idle, view.n_idle_gpus, view.idle_after) == (1, 2, "1 hour")


def test_forecasts_are_told_with_the_number_of_sessions_that_they_were_for() -> None:
    assert "not known yet" in describe_accuracy(None)
    one = Accuracy(n_sessions=1, median_error_s=420, median_late_s=420)
    assert "only session that waited so far was off by 7 min" in describe_accuracy(one)
    accuracy = Accuracy(n_sessions=12, median_error_s=420, median_late_s=-300)
    assert describe_accuracy(accuracy) == (
        "Half of the forecasts were off by 7 min or less, counted over the last 12 sessions that"
        " waited. Mostly sessions started earlier than forecast."
    )


def spawner(**changes: Any) -> Any:
    """Return a spawner that notes nothing and has no way to Slurm."""
    known: dict[str, Any] = {
        "active": True,
        "ready": True,
        "pending": None,
        "is_suspended": False,
        "session": Session(mark="0", user="ada", n_gpus=2, job_id=7, submitted_at=0),
        "job_record": JobRecord(
            key=JobKey(job_id=7, user="ada", name="dsportal-0"),
            state=JobState.RUNNING,
            node="node01",
            starts_at=f"{(NOW - timedelta(hours=3)).astimezone():%Y-%m-%dT%H:%M:%S}",
            comment="",
            reason="None",
        ),
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
    assert (found.since, found.idle) == ("3 h 0 min", "2 h 0 min")


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
        session=Session(mark="0", user="ada", submitted_at=NOW.timestamp() - 600),
    )

    (found,) = list_sessions(users(waiting), NOW)

    assert (found.since_s, found.idle_s) == (600, None)


def test_a_thousand_sessions_and_nodes_are_counted_once_for_each_answer_of_slurm() -> None:
    catalog = Catalog.parse("".join(sinfo(f"node{n:04}") for n in range(1000)))
    sessions = list_sessions(users(*(spawner() for _ in range(1000))), NOW)

    first = describe_cluster(sessions, catalog=offered(catalog, ["jupyter"]), is_admin=True)
    again = describe_cluster(sessions, catalog=offered(catalog, ["jupyter"]), is_admin=True)

    assert first.gpus[0].total == 4000
    assert again.gpus is first.gpus, "what was counted is used again"
    assert len(again.rows) == 1000
