"""Sessions on the real cluster: how they start, wait, fail, end and outlive a crash of the hub."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import time
from typing import Any

import pytest
import requests

from dsportal.diagnosis import Situation, explain_end
from dsportal.slurm.states import JobState
from portal.hub.network.authority import ensure_certificates
from tests.slurm.conftest import USER, release, session_token, sessions, start, wait_until_ready
from tests.support.eventually import eventually
from tests.support.private_hub import ACCOUNT, ADDRESS, PrivateHub

pytestmark = pytest.mark.cluster


# A held job waits until somebody releases it, whatever else the cluster does.
HELD = {"req_options": "--hold"}


def test_a_killed_hub_takes_up_a_session_that_was_ready(hub: PrivateHub) -> None:
    start(hub)
    wait_until_ready(hub)
    before = hub.session(USER)

    hub.kill()
    hub.start()

    wait_until_ready(hub)
    assert hub.session(USER) == before
    assert [job.job_id for job in sessions()] == [before["job_id"]]


@pytest.mark.hub(**HELD)
def test_a_killed_hub_takes_up_a_session_that_waits_and_it_can_start(
    hub: PrivateHub,
) -> None:
    start(hub)
    (job,) = eventually(sessions, timeout_s=20)
    assert job.state == "PENDING"
    log = eventually(lambda: steps_of(hub, n_steps=2), timeout_s=20)

    hub.kill()
    hub.start(**HELD)

    assert hub.server(USER)["pending"] == "spawn"
    assert steps_of(hub, n_steps=2) == log, "the log and its times outlive the restart"
    release()
    wait_until_ready(hub)
    assert [job.job_id for job in sessions()] == [job.job_id]
    assert f"/user/{USER}" in hub.routes()


@pytest.mark.hub(watch_running_s=300.0)
def test_a_session_that_the_proxy_does_not_reach_is_looked_at_at_once(hub: PrivateHub) -> None:
    start(hub)
    wait_until_ready(hub)
    page = {"url": f"/user/{USER}/lab"}

    subprocess.run(["scancel", str(hub.session(USER)["job_id"])], check=True, timeout=30)

    def is_known_to_have_ended() -> bool:
        # As the proxy does for each request that it could not bring to the session.
        requests.get(f"{hub.address}/error/503", params=page, timeout=30)
        return not hub.server(USER)

    eventually(is_known_to_have_ended, timeout_s=60)
    assert f"/user/{USER}" not in hub.routes()


def test_a_server_that_says_goodbye_is_sent_nothing_more_and_its_job_says_how_it_ended(
    hub: PrivateHub,
) -> None:
    start(hub)
    wait_until_ready(hub)
    assert f"/user/{USER}" in hub.routes()

    answer = hub.rest("DELETE", "/dsportal/session?because=exit", token=session_token())

    assert answer.status_code == 202
    assert f"/user/{USER}" not in hub.routes()
    assert [job.state for job in sessions()] == ["RUNNING"]
    assert hub.server(USER)["ready"]


@pytest.fixture
def certificates_dir(hub: PrivateHub) -> str:
    """The hub's folder of certificates, as the proxy makes it."""
    folder = hub.folder / "certificates"
    ensure_certificates(folder, ADDRESS)
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, ACCOUNT)
    return str(folder)


def test_a_session_from_before_internal_tls_goes_on_after_it_was_switched_on(
    hub: PrivateHub, certificates_dir: str
) -> None:
    start(hub)
    wait_until_ready(hub)
    before = hub.session(USER)

    hub.kill()
    hub.start(certificates_dir=certificates_dir)

    wait_until_ready(hub)
    assert hub.session(USER) == before
    assert hub.routes()[f"/user/{USER}"]["target"].startswith("http://")


def test_a_server_without_a_certificate_is_not_taken_for_a_session_that_has_one(
    hub: PrivateHub, certificates_dir: str
) -> None:
    hub.start(certificates_dir=certificates_dir)
    n_seen = len(hub.log())

    start(hub)

    eventually(lambda: "must report its certificate" in hub.log()[n_seen:], timeout_s=60)
    eventually(lambda: not sessions(), timeout_s=60)
    assert f"/user/{USER}" not in hub.routes()


def steps_of(hub: PrivateHub, *, n_steps: int) -> list[object]:
    steps: list[object] = (hub.server(USER).get("state") or {}).get("start", {}).get("steps", [])
    return steps[:n_steps] if len(steps) >= n_steps else []


@pytest.mark.release
@pytest.mark.hub(**HELD)
def test_a_killed_hub_takes_up_a_waiting_session_that_can_then_be_stopped(
    hub: PrivateHub,
) -> None:
    start(hub)
    eventually(sessions, timeout_s=20)
    hub.kill()
    hub.start(**HELD)

    hub.rest("DELETE", f"/users/{USER}/server")

    eventually(lambda: not sessions(), timeout_s=5)
    eventually(lambda: not hub.server(USER), timeout_s=10)


@pytest.mark.parametrize("after_s", [0.0, 0.2, 0.8])
@pytest.mark.hub(wait_s=2)
def test_a_hub_killed_at_any_moment_of_a_start_loses_no_session_and_no_job(
    hub: PrivateHub, after_s: float
) -> None:
    thread = start(hub)
    # The kill has to come at that moment, whatever is going on then.
    time.sleep(after_s)

    hub.kill()
    thread.join()
    # An order that was given is carried out, although nobody hears of it.
    eventually(lambda: not launchers(), timeout_s=30)
    submitted = [job.job_id for job in sessions()]
    hub.start(wait_s=2)

    def is_settled() -> bool:
        server, job_ids = hub.server(USER), [job.job_id for job in sessions()]
        if not submitted:
            return not server and not job_ids
        is_taken_up = hub.session(USER).get("job_id") == submitted[0]
        return bool(server.get("ready")) and is_taken_up and job_ids == submitted

    eventually(is_settled, timeout_s=60)


def launchers() -> list[str]:
    """Return the processes that submit, from sudo's first moment on."""
    argv = ["pgrep", "-f", "libexec/dsportal-launcher"]
    return subprocess.run(argv, check=False, capture_output=True, text=True).stdout.split()


@pytest.mark.hub(wait_s=3)
def test_a_hub_that_is_away_while_the_server_reports_gets_its_port_later(hub: PrivateHub) -> None:
    start(hub)
    eventually(lambda: any(job.state == "RUNNING" for job in sessions()), timeout_s=20)

    hub.kill()
    log = eventually(lambda: "did not take the port yet" in job_log(), timeout_s=20)
    hub.start(wait_s=3)

    assert log
    wait_until_ready(hub)


def job_log() -> str:
    (job,) = sessions()
    path = f"/home/{USER}/.local/state/data-scientist-portal/logs/session-{job.job_id}.log"
    with open(path) as file:
        return file.read()


def test_a_job_that_is_cancelled_outside_the_portal_ends_the_session(hub: PrivateHub) -> None:
    start(hub)
    wait_until_ready(hub)
    (job,) = sessions()

    subprocess.run(["scancel", str(job.job_id)], check=True)

    eventually(lambda: not hub.server(USER), timeout_s=40)
    why = explain_end(JobState.CANCELLED, cancelled_by_uid=0).sentence
    assert why in hub.log()
    assert why in last_ending(hub)["message"]
    hub.kill()
    hub.start()
    assert last_ending(hub)["job_id"] == job.job_id, "it outlives a restart of the hub"
    start(hub)
    wait_until_ready(hub)
    hub.rest("DELETE", f"/users/{USER}/server")
    eventually(lambda: not hub.server(USER), timeout_s=20)
    assert last_ending(hub) == {}, "who stops a session knows why it has ended"


def test_a_session_that_ends_while_the_hub_is_down_is_explained(hub: PrivateHub) -> None:
    start(hub)
    wait_until_ready(hub)
    (job,) = sessions()
    hub.kill()

    subprocess.run(["runuser", "-u", USER, "--", "scancel", str(job.job_id)], check=True, cwd="/")
    eventually(lambda: not sessions(), timeout_s=20)
    hub.start()

    eventually(lambda: not hub.server(USER), timeout_s=40)
    by_user = Situation(user_uid=1)
    why = explain_end(JobState.CANCELLED, cancelled_by_uid=1, situation=by_user).sentence
    assert why in last_ending(hub)["message"]


def last_ending(hub: PrivateHub) -> dict[str, Any]:
    """Return what the database keeps of the end of the last session."""
    with contextlib.closing(sqlite3.connect(hub.folder / "hub.sqlite")) as database:
        rows = database.execute(
            "SELECT s.state FROM spawners s JOIN users u ON u.id = s.user_id WHERE u.name = ?",
            (USER,),
        ).fetchall()
    ((state,),) = rows
    ending: dict[str, Any] = json.loads(state).get("ending", {})
    return ending


def test_a_job_of_a_session_that_the_database_forgot_is_cancelled_and_others_are_not(
    hub: PrivateHub,
) -> None:
    start(hub)
    wait_until_ready(hub)
    other = subprocess.run(
        [
            *("sbatch", "--parsable", "--uid", USER, "--job-name=dsportal-other", "--mem=1G"),
            *("--comment=data-scientist-portal hub=000000000000", "--output=/dev/null"),
            *("--chdir=/", "--time=5", "--wrap=exec sleep 300"),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    hub.kill()
    with contextlib.closing(sqlite3.connect(hub.folder / "hub.sqlite")) as database, database:
        database.execute("update spawners set server_id = null, state = '{}'")
    hub.start(orphan_interval_s=1, orphan_after_s=3)
    hub.rest("POST", f"/users/{USER}/server", {"gpus": 99})

    eventually(lambda: [str(job.job_id) for job in sessions()] == [other], timeout_s=20)
    assert "belongs to no session of this hub" in hub.log()


def test_no_secret_of_a_session_stands_where_others_can_read_it(hub: PrivateHub) -> None:
    start(hub)
    wait_until_ready(hub)
    (job,) = sessions()
    token = session_token()

    commands = {
        "ps": ["ps", "-eo", "args"],
        "scontrol show job": ["scontrol", "show", "job", "-dd", str(job.job_id)],
        "batch script": ["scontrol", "write", "batch_script", str(job.job_id), "-"],
    }
    for where, argv in commands.items():
        text = output_of(argv)
        assert job.name in text or where in {"batch script", "ps"}
        assert token not in text, where
    accounted = ["sacct", "-X", "-P", "-j", str(job.job_id), "--format=JobName,Comment,SubmitLine"]
    assert job.name in eventually(lambda: output_of(accounted, job.name), timeout_s=20)
    assert token not in output_of(accounted)
    assert token not in hub.log(), "the hub's log at DEBUG"
    assert token not in job_log()
    assert token.encode() not in (hub.folder / "hub.sqlite").read_bytes()


def output_of(argv: list[str], wanted: str = "") -> str:
    text = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return text if wanted in text else ""
