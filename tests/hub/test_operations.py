"""What an administrator does with a running portal: status, drain, stop, health, backup."""

import grp
import json
import pwd
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.eventually import eventually
from tests.support.jobstats import summary
from tests.support.portal_client import ADDRESS, PortalClient, QueuedJob, sessions_of
from tests.support.put_back import put_back

DSPORTAL = "/opt/data-scientist-portal/environments/hub/bin/dsportal"
USER = "ada"
pytestmark = pytest.mark.cluster


def dsportal(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DSPORTAL, *arguments], check=False, capture_output=True, text=True, timeout=200
    )


@pytest.fixture
def token() -> Iterator[str]:
    client = PortalClient(USER)
    client.login().raise_for_status()
    token = client.token()
    with put_back((DSPORTAL, "undrain")):
        yield token
    client.stop(token)


def start(token: str) -> requests.Response:
    return PortalClient(USER).rest(
        "POST", f"/users/{USER}/server", token, json={"gpus": 1}, timeout=60
    )


def state_of(user: str) -> str:
    status = json.loads(dsportal("status", "--json").stdout)
    return next((one["state"] for one in status["sessions"] if one["user"] == user), "")


def home_page() -> str:
    client = PortalClient(USER)
    client.login().raise_for_status()
    return client.http.get(f"{ADDRESS}/hub/home", timeout=30).text


def test_sessions_of_a_partition_are_stopped_with_a_message(token: str) -> None:
    start(token).raise_for_status()
    eventually(lambda: state_of(USER) == "running", timeout_s=90)

    other = dsportal("sessions", "stop", "--yes", "--user", "linus")
    unasked = dsportal("sessions", "stop", "--partition", "jupyter")
    assert other.returncode == unasked.returncode == 1
    assert "linus has no session." in other.stderr
    assert state_of(USER) == "running"
    message = ("--message", "Cooling fails.")
    stopped = dsportal("sessions", "stop", "--yes", "--partition", "jupyter", *message)

    assert "1 of 1 session stopped." in stopped.stdout
    assert "Cooling fails." in home_page()
    eventually(lambda: not sessions_of(USER), timeout_s=60)


def test_while_drained_no_session_starts_and_open_ones_go_on(token: str) -> None:
    start(token).raise_for_status()
    eventually(lambda: state_of(USER) == "running", timeout_s=90)

    drained = dsportal("drain", "--yes", "--message", "New disks until noon.")
    health = requests.get(f"{ADDRESS}/hub/api/dsportal/health", timeout=30)

    assert "New sessions are refused: New disks until noon." in drained.stdout
    assert health.json() == {
        "hub": "answers",
        "slurm": "answers",
        "clusters": {},
        "proxy": "answers",
        "disk": "has room",
        "takes_sessions": False,
    }
    assert state_of(USER) == "running"
    assert "New disks until noon. Running sessions continue." in home_page()
    PortalClient(USER).rest("DELETE", f"/users/{USER}/server", token)
    eventually(lambda: not state_of(USER), timeout_s=60)

    refused = start(token)

    assert refused.status_code == 503
    assert "New disks until noon." in refused.json()["message"]
    assert sessions_of(USER) == []
    dsportal("undrain")
    # The start that was refused meanwhile keeps its reason.
    assert "New disks until noon. Running sessions continue." not in home_page()
    assert requests.get(health.url, timeout=30).json()["takes_sessions"] is True


def test_gpu_hours_of_everybody_are_those_of_slurm(token: str) -> None:
    since = f"{datetime.now():%Y-%m-%dT%H:%M:%S}"
    start(token).raise_for_status()
    eventually(lambda: state_of(USER) == "running", timeout_s=90)
    began = time.monotonic()

    def rows(by: str) -> list[dict[str, Any]]:
        said = dsportal("usage", "--since", since, "--by", by, "--json")
        return [one for one in json.loads(said.stdout)["rows"] if one["user"] == USER]

    # sacct has whole seconds.
    eventually(lambda: time.monotonic() - began > 3 and rows("group"), timeout_s=30)
    (row,) = rows("group")
    passed_h = (time.monotonic() - began) / 3600
    assert passed_h / 2 < row["gpu_hours"] == row["gpu_hours_in_sessions"] < passed_h + 90 / 3600
    assert row["group"] == grp.getgrgid(pwd.getpwnam(USER).pw_gid).gr_name
    assert row["jobs"] == 1
    assert rows("account")[0]["gpu_hours"] >= row["gpu_hours"]
    table = dsportal("usage", "--since", since)
    assert f"{row['group']:<20}{USER:<20}" in table.stdout


def token_of(job: QueuedJob) -> str:
    """The token of a session, as its user could read it on the node."""
    of_job = f"SLURM_JOB_ID={job.job_id}".encode()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            items = environ.read_bytes().split(b"\0")
            if of_job in items:
                known = dict(item.split(b"=", 1) for item in items if b"=" in item)
                if b"JUPYTERHUB_API_TOKEN" in known:
                    return known[b"JUPYTERHUB_API_TOKEN"].decode()
    raise LookupError("no process of the session")


def test_gpu_hours_used_are_what_the_session_says_and_rather_what_jobstats_says(
    token: str,
) -> None:
    since = f"{datetime.now():%Y-%m-%dT%H:%M:%S}"

    def rows() -> list[dict[str, Any]]:
        said = dsportal("usage", "--since", since, "--json")
        return [one for one in json.loads(said.stdout)["rows"] if one["user"] == USER]

    def hours() -> tuple[float, float | None]:
        """Held and used ones."""
        (row,) = rows()
        return row["gpu_hours"], row["gpu_hours_used"]

    start(token).raise_for_status()
    eventually(lambda: state_of(USER) == "running", timeout_s=90)
    (job,) = sessions_of(USER)
    # slurmctld tells slurmdbd of a job in a message of its own, which may wait.
    eventually(rows, timeout_s=30)
    assert hours()[1] is None, "simulated GPUs cannot be measured"
    answer = requests.post(
        f"{ADDRESS}/hub/api/dsportal/gpu-use",
        json={"percents": {str(job.job_id): 0.0}},
        headers={"Authorization": f"token {token_of(job)}"},
        timeout=30,
    )
    assert answer.status_code == 204
    assert hours()[1] == 0

    # Not by sacctmgr as jobstats does: that of Slurm 22.05 writes small letters.
    change = ("scontrol", "update", f"JobId={job.job_id}", f"AdminComment={summary([100.0])}")
    subprocess.run(change, check=True)
    PortalClient(USER).stop(token)
    eventually(lambda: not sessions_of(USER), timeout_s=60)

    held, used = hours()
    assert held == used > 0
    eventually(lambda: "100 % on average" in home_page(), timeout_s=30)


def test_users_are_listed_and_nobody_who_may_log_in_is_removed(token: str) -> None:
    def listed() -> dict[str, Any]:
        users = json.loads(dsportal("users", "list", "--json").stdout)
        return next(one for one in users if one["user"] == USER)

    # LDAP that is slow once is asked again half a minute later.
    eventually(lambda: listed()["account"] == "may log in", timeout_s=90)
    refused = dsportal("users", "remove", "--yes", USER)
    unknown = dsportal("users", "remove", "--yes", "nobody-here")
    would = dsportal("users", "remove", "--dry-run", "--even-if-allowed", USER)

    assert listed()["tokens"] >= 1
    assert refused.returncode == 1
    assert "may still log in" in refused.stderr
    assert "--even-if-allowed" in refused.stderr
    assert "knows no user nobody-here" in unknown.stderr
    assert unknown.returncode == 1
    assert f"Remove {USER}: stop" in would.stdout
    assert PortalClient(USER).rest("GET", f"/users/{USER}", token).ok


def test_the_database_is_copied_while_the_hub_runs() -> None:
    done = dsportal("backup")

    copy = Path(done.stdout.strip())
    database = sqlite3.connect(copy)
    assert database.execute("SELECT count(*) FROM users").fetchone()[0] > 0
    database.close()
    assert copy.stat().st_mode & 0o077 == 0
    restored = dsportal("backup", "--yes", "--restore", str(copy))
    assert restored.returncode == 1
    assert "The hub is running. Stop it" in restored.stderr
    copy.unlink()
