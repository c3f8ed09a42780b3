"""Sessions that go on for longer, on the real cluster: who may ask, within what, and why not."""

import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.slurm.conftest import USER, session_token, sessions, start, wait_until_ready
from tests.support.eventually import eventually
from tests.support.private_hub import PrivateHub
from tests.support.put_back import put_back

ONE_HOUR = {
    "extension_hours": 1,
    "max_extended_hours": 4,
    "max_extensions": 2,
    "catalog_age_s": 0.0,
}
pytestmark = [pytest.mark.cluster, pytest.mark.hub(**ONE_HOUR)]
TWO_HOURS = {"gpus": 1, "hours": 2}
EXTENDER = "/opt/data-scientist-portal/libexec/dsportal-extender"


@pytest.fixture
def token(hub: PrivateHub) -> str:
    """Start a session of two hours on a hub that extends by one, and return its server's token."""
    start(hub, TWO_HOURS)
    wait_until_ready(hub)
    return session_token()


def ask(hub: PrivateHub, token: str) -> requests.Response:
    return hub.rest("POST", "/dsportal/extend", {}, token=token)


def limit() -> str:
    """Return the time limit of the session's job as Slurm prints it."""
    (job,) = sessions()
    return squeue(str(job.job_id), "%l")


def squeue(job_id: str, form: str) -> str:
    argv = ["squeue", "-h", "-j", job_id, "-o", form]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def as_account(request: dict[str, Any], *, account: str = "slurm") -> dict[str, Any]:
    """Ask the extender as the hub's account does."""
    done = subprocess.run(
        ["sudo", "-u", "dsportal", "sudo", "-n", "-u", account, EXTENDER],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return dict(json.loads(done.stdout)) if done.stdout else {"refused": done.stderr}


@pytest.fixture
def waiting_job(token: str) -> Iterator[None]:
    """Let somebody else wait for more than there is."""
    argv = ["sbatch", "--parsable", "--uid=ada", "--chdir=/", "--output=/dev/null", "--exclusive"]
    argv += ["--nodes=2", "--time=10", "--wrap=exec sleep 60"]
    job_id = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
    eventually(lambda: squeue(job_id, "%r") in {"Resources", "Priority"}, timeout_s=20)
    yield
    subprocess.run(["scancel", job_id], check=True)


def test_a_session_extends_itself_until_the_site_says_no(hub: PrivateHub, token: str) -> None:
    before = hub.rest("GET", "/dsportal/session", token=token).json()

    answer = ask(hub, token)

    assert answer.status_code == 200, answer.text
    assert answer.json()["left_s"] == pytest.approx(before["left_s"] + 3600, abs=10)
    assert answer.json()["extension"] == {"step_s": 3600, "n_left": 1}
    assert limit() == "3:00:00"
    assert ask(hub, token).status_code == 200
    third = ask(hub, token)
    assert third.status_code == 409
    assert "already extended 2 times" in third.json()["message"]
    assert limit() == "4:00:00"


def test_a_restarted_hub_still_knows_how_often_a_session_was_extended(
    hub: PrivateHub, token: str
) -> None:
    ask(hub, token)
    hub.kill()
    hub.start(**ONE_HOUR)
    wait_until_ready(hub)

    answer = eventually(
        lambda: hub.rest("GET", "/dsportal/session", token=token).json(), timeout_s=20
    )

    assert answer["extension"]["n_left"] == 1


def test_an_administrators_change_of_the_limit_reaches_the_session(
    hub: PrivateHub, token: str
) -> None:
    (job,) = sessions()
    subprocess.run(["scontrol", "update", f"JobId={job.job_id}", "TimeLimit=30"], check=True)

    def left_s() -> int:
        return int(hub.rest("GET", "/dsportal/session", token=token).json()["left_s"])

    eventually(lambda: left_s() < 1800, timeout_s=25)


def test_the_user_extends_with_a_token_of_their_own_and_nobody_else_does(
    hub: PrivateHub, token: str
) -> None:
    hub.rest("POST", "/users/ada")
    theirs = hub.rest("POST", "/users/ada/tokens", {}).json()["token"]
    own = hub.rest("POST", f"/users/{USER}/tokens", {}).json()["token"]

    for stranger, status in {theirs: 404, "no-token": 403}.items():
        assert ask(hub, stranger).status_code == 403
        answer = hub.rest("POST", f"/dsportal/users/{USER}/extend", {}, token=stranger)
        assert answer.status_code == status
    missing = hub.rest("POST", f"/dsportal/users/{USER}/servers/none/extend", {}, token=own)
    assert missing.status_code == 404
    assert limit() == "2:00:00"
    answer = hub.rest("POST", f"/dsportal/users/{USER}/extend", {}, token=own)
    assert answer.status_code == 200, answer.text
    assert limit() == "3:00:00"


def test_a_session_is_not_extended_beyond_its_partition(hub: PrivateHub, token: str) -> None:
    change = ["scontrol", "update", "PartitionName=jupyter"]
    with put_back([*change, "MaxTime=1-00:00:00"]):
        subprocess.run([*change, "MaxTime=02:00:00"], check=True)
        answer = ask(hub, token)

    assert answer.status_code == 409
    assert "The partition jupyter allows 2 hours in all" in answer.json()["message"]


def test_a_session_is_not_extended_beyond_its_quality_of_service(
    hub: PrivateHub, token: str
) -> None:
    change = ["sacctmgr", "-i", "modify", "qos", "normal", "set"]
    with put_back([*change, "MaxWall=-1"]):
        subprocess.run([*change, "MaxWall=02:00:00"], check=True, stdout=subprocess.DEVNULL)
        answer = ask(hub, token)

    assert answer.status_code == 409
    assert "normal allows 2 hours in all" in answer.json()["message"]


@pytest.mark.usefixtures("waiting_job")
def test_those_who_wait_go_first_where_the_site_wants_it(hub: PrivateHub, token: str) -> None:
    answer = ask(hub, token)

    assert answer.status_code == 409
    assert "Another job is waiting for GPUs in partition jupyter" in answer.json()["message"]
    hub.start(**ONE_HOUR | {"extend_while_others_wait": True})
    wait_until_ready(hub)
    assert ask(hub, token).status_code == 200


def test_a_hub_without_the_second_rule_of_sudo_says_so(hub: PrivateHub, token: str) -> None:
    hub.start(**ONE_HOUR | {"slurm_user": "root"})
    wait_until_ready(hub)

    answer = ask(hub, token)

    assert answer.status_code == 409
    assert "Extensions are not set up" in answer.json()["message"]


def test_a_session_ends_itself_with_its_own_token_only(hub: PrivateHub, token: str) -> None:
    theirs = hub.rest("POST", "/users/ada/tokens", {}).json().get("token", "x")
    assert hub.rest("DELETE", "/dsportal/session", token=theirs).status_code == 403
    before = time.monotonic()

    assert hub.rest("DELETE", "/dsportal/session", token=token).status_code == 202

    eventually(lambda: not sessions(), timeout_s=10)
    eventually(lambda: not hub.server(USER), timeout_s=10)
    assert time.monotonic() - before < 10


def test_the_extender_changes_only_the_very_job_that_is_meant(hub: PrivateHub, token: str) -> None:
    (job,) = sessions()
    user_id = int(squeue(str(job.job_id), "%U"))
    order = {
        "verb": "extend",
        "job_id": job.job_id,
        "user_id": user_id,
        "job_name": job.name,
        "comment": squeue(str(job.job_id), "%k"),
        "minutes": 150,
    }

    for other in (
        {"job_name": "dsportal-0123456789abcdef"},
        {"user_id": user_id + 1},
        {"comment": "data-scientist-portal hub=000000000000"},
        {"job_id": 4_000_000},
    ):
        assert as_account(order | other) == {"ok": True, "found": False}
    assert "already" in as_account(order | {"minutes": 60})["stderr"]
    assert "refused" in as_account(order, account=USER)
    assert limit() == "2:00:00"
    assert as_account(order)["found"]
    assert limit() == "2:30:00"
