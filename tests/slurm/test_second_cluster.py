"""Two clusters behind one hub: each with its own controller, keys and job ids."""

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import requests

from spawner.installed_paths import SERVER_ENVIRONMENT, SERVER_PROGRAM
from spawner.session_settings import EXTENSIONS
from tests.slurm.conftest import USER, jobs_of
from tests.support import parts
from tests.support.eventually import eventually, throughout
from tests.support.private_hub import PrivateHub
from tests.support.second_cluster import (
    NAME,
    TRAITS,
    SecondCluster,
)

OTHER_USER = "ada"
SETTINGS = {"clusters": {NAME: TRAITS}, "watch_running_s": 2.0, "slurm_timeout_s": 3.0}
REAL_SERVER = {
    "server_argv": [f"{SERVER_ENVIRONMENT}/{SERVER_PROGRAM}"],
    "session_settings": {EXTENSIONS: {"portal.server": True}},
}
pytestmark = [pytest.mark.cluster, pytest.mark.hub(**SETTINGS)]


@pytest.fixture
def hub(volta: SecondCluster, hub: PrivateHub) -> Iterator[PrivateHub]:
    """A hub with both clusters, and at the end without the session of the other user."""
    yield hub
    hub.start(**SETTINGS)
    hub.rest("DELETE", f"/users/{OTHER_USER}/server")
    eventually(lambda: not hub.server(OTHER_USER), timeout_s=60)


def is_ready(hub: PrivateHub, user: str) -> bool:
    return bool(hub.server(user).get("ready"))


def have_session(hub: PrivateHub, user: str, cluster: str = "") -> int:
    """Start a session, wait until it is ready, and return the id of its job."""
    hub.rest("POST", f"/users/{user}")
    options = {"gpus": 1, "cluster": cluster} if cluster else {"gpus": 1}
    hub.rest("POST", f"/users/{user}/server", options)
    eventually(lambda: is_ready(hub, user), timeout_s=90)
    session = hub.session(user)
    assert session["cluster"] == cluster
    return int(session["job_id"])


def stop_session(hub: PrivateHub, user: str) -> None:
    hub.rest("DELETE", f"/users/{user}/server")
    eventually(lambda: not hub.server(user), timeout_s=60)


def first_jobs() -> list[int]:
    return [job.job_id for user in (USER, OTHER_USER) for job in jobs_of(user)]


def test_sessions_with_the_same_job_id_on_two_clusters_are_two_sessions(
    volta: SecondCluster, hub: PrivateHub
) -> None:
    there = have_session(hub, OTHER_USER, NAME)
    here = have_session(hub, USER)
    assert here == there, "another job came between: no collision was tried"
    before = hub.session(OTHER_USER)

    hub.kill()
    hub.start(**SETTINGS)
    eventually(lambda: is_ready(hub, USER) and is_ready(hub, OTHER_USER), timeout_s=60)
    stop_session(hub, USER)

    assert (first_jobs(), volta.jobs()) == ([], [there])
    throughout(lambda: hub.session(OTHER_USER) == before, for_s=6)

    again = have_session(hub, USER)
    stop_session(hub, OTHER_USER)
    assert (first_jobs(), volta.jobs()) == ([again], [])
    assert is_ready(hub, USER)


def test_a_cluster_whose_controller_is_away_takes_no_session_of_the_other_along(
    volta: SecondCluster, hub: PrivateHub
) -> None:
    there = have_session(hub, OTHER_USER, NAME)
    n_seen = len(hub.log())

    volta.kill_controller()
    eventually(lambda: "No session is touched" in hub.log()[n_seen:], timeout_s=60)
    have_session(hub, USER)
    stop_session(hub, USER)
    assert is_ready(hub, OTHER_USER)
    volta.start_controller()
    eventually(lambda: "Slurm answers again" in hub.log()[n_seen:], timeout_s=90)
    assert (volta.jobs(), is_ready(hub, OTHER_USER)) == ([there], True)

    here = have_session(hub, USER)
    parts.wait_until_saved(here)
    parts.kill("slurmctld")
    try:
        stop_session(hub, OTHER_USER)
        assert volta.jobs() == []
        have_session(hub, OTHER_USER, NAME)
    finally:
        parts.start("slurmctld")
    assert is_ready(hub, USER)
    assert first_jobs() == [here]


@pytest.mark.hub(**SETTINGS, **REAL_SERVER)
def test_a_sessions_list_of_jobs_has_those_of_the_other_cluster(
    volta: SecondCluster, hub: PrivateHub
) -> None:
    have_session(hub, USER)
    token = hub.rest("POST", f"/users/{USER}/tokens", {"expires_in": 600}).json()["token"]

    def listed() -> dict[str, Any]:
        found: dict[str, Any] = requests.get(
            f"{hub.public_url}/user/{USER}/portal/api/jobs",
            headers={"Authorization": f"token {token}"},
            timeout=30,
        ).json()
        return found

    def there() -> list[tuple[str, str]]:
        # A run of a session has no job of its own.
        jobs = [row["job"] for row in listed()["rows"] if row["job"]]
        return [(job["id"], job["name"]) for job in jobs if job["cluster"]]

    job = ("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--wrap=sleep 600")
    train = volta.ask(*job, f"--uid={USER}", "--job-name=train")
    volta.ask(*job, f"--uid={OTHER_USER}")
    eventually(lambda: there() == [(f"Volta:{train}", "train")], timeout_s=60)
    assert listed()["missing"] == ""

    volta.kill_controller()
    eventually(lambda: listed()["missing"].startswith("Your jobs on Volta"), timeout_s=60)
    assert listed()["problem"] == ""


@pytest.mark.hub(**SETTINGS, extension_hours=1, max_extended_hours=12, max_extensions=1)
def test_a_session_is_extended_on_its_own_cluster(volta: SecondCluster, hub: PrivateHub) -> None:
    there, here = have_session(hub, OTHER_USER, NAME), have_session(hub, USER)
    assert here == there, "another job came between: no collision was tried"

    answer = hub.rest("POST", f"/dsportal/users/{OTHER_USER}/extend", {})

    assert answer.status_code == 200, answer.text
    limit = ("squeue", "--noheader", f"--jobs={here}", "--format=%l")
    assert volta.ask(*limit) == "9:00:00"
    assert subprocess.check_output(limit, text=True).strip() == "8:00:00"


def test_a_cluster_that_the_settings_no_longer_have_ends_no_session(
    volta: SecondCluster, hub: PrivateHub
) -> None:
    there = have_session(hub, OTHER_USER, NAME)
    before = hub.session(OTHER_USER)

    hub.kill()
    hub.start(**SETTINGS | {"clusters": {}, "absent_s": 1.0})

    eventually(lambda: "No session is touched" in hub.log(), timeout_s=60)
    throughout(lambda: hub.session(OTHER_USER) == before, for_s=10)
    assert volta.jobs() == [there]
    refused = hub.rest("POST", f"/users/{USER}/server", {"gpus": 1, "cluster": NAME})
    assert NAME in refused.json()["message"]


def test_the_search_for_orphans_finds_those_of_each_cluster(
    volta: SecondCluster, hub: PrivateHub
) -> None:
    have_session(hub, OTHER_USER, NAME)
    hub.kill()
    with closing(sqlite3.connect(hub.folder / "hub.sqlite")) as database, database:
        database.execute("update spawners set server_id = null, state = '{}'")

    hub.start(**SETTINGS, orphan_interval_s=1, orphan_after_s=1)
    hub.rest("POST", f"/users/{USER}/server", {"gpus": 99})

    eventually(lambda: not volta.jobs(), timeout_s=60)
