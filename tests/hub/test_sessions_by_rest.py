"""What a script (or an attacker) sees of the portal through REST, on the real cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
import requests

from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, QueuedJob, sessions_of

pytestmark = pytest.mark.cluster

USER = "grace"


@pytest.fixture(scope="module")
def grace() -> PortalClient:
    client = PortalClient(USER)
    client.login()
    return client


@pytest.fixture(scope="module")
def token(grace: PortalClient) -> str:
    return grace.token()


@pytest.fixture
def no_session(grace: PortalClient, token: str) -> Iterator[None]:
    stop(grace, token)
    yield
    stop(grace, token)


def server(client: PortalClient, token: str) -> dict:
    return client.rest("GET", f"/users/{USER}", token).json()["servers"].get("", {})


def stop(client: PortalClient, token: str) -> None:
    client.rest("DELETE", f"/users/{USER}/server", token)
    eventually(lambda: not server(client, token), timeout_s=30)
    eventually(lambda: not sessions_of(USER), timeout_s=30)


def start(client: PortalClient, token: str, options: object) -> QueuedJob:
    answer = client.rest("POST", f"/users/{USER}/server", token, json=options)
    assert answer.status_code in {201, 202}, answer.text
    return eventually(lambda: sessions_of(USER)[0], timeout_s=20)


def wait_until_ready(client: PortalClient, token: str) -> None:
    eventually(lambda: server(client, token).get("ready"), timeout_s=90)


@pytest.mark.parametrize(("options", "n_gpus"), [({}, 1), ({"gpus": 2}, 2)], ids=["empty", "two"])
def test_a_session_is_one_slurm_job_with_8_cores_and_48_gb_a_gpu(
    grace: PortalClient, token: str, no_session: None, options: dict, n_gpus: int
) -> None:
    job = start(grace, token, options)

    assert job.user == USER
    assert job.n_cpus == 8 * n_gpus
    assert job.memory == f"{48 * n_gpus}G"
    assert job.walltime == "8:00:00"
    assert f":{n_gpus}" in job.gres
    wait_until_ready(grace, token)


def test_stopping_a_session_frees_its_gpus_within_five_seconds(
    grace: PortalClient, token: str, no_session: None
) -> None:
    start(grace, token, {"gpus": 1})
    wait_until_ready(grace, token)

    grace.rest("DELETE", f"/users/{USER}/server", token)

    eventually(lambda: not sessions_of(USER), timeout_s=5)


@pytest.mark.release
def test_a_suspended_session_is_said_on_every_page_until_it_is_resumed(
    grace: PortalClient, token: str, no_session: None
) -> None:
    job = start(grace, token, {"gpus": 1})
    wait_until_ready(grace, token)

    def says_so(page: str) -> bool:
        text = grace.http.get(f"{ADDRESS}/hub/{page}", timeout=60).text
        return "An administrator has suspended this session." in text

    assert not says_so("home")
    subprocess.run(["scontrol", "suspend", str(job.job_id)], check=True)
    try:
        # The hub looks every 15 s.
        eventually(lambda: says_so("home"), timeout_s=60)
        for page in ("token", "cluster"):
            assert says_so(page), page
    finally:
        subprocess.run(["scontrol", "resume", str(job.job_id)], check=True)

    eventually(lambda: not says_so("home"), timeout_s=60)
    assert server(grace, token)["ready"]


def test_a_session_that_still_starts_can_be_stopped(
    grace: PortalClient, token: str, no_session: None
) -> None:
    start(grace, token, {"gpus": 1})

    grace.rest("DELETE", f"/users/{USER}/server", token)

    eventually(lambda: not sessions_of(USER), timeout_s=10)


@pytest.mark.parametrize(
    "gpus", [0, 9, -1, "two", "1;id", 1.5, None, True, [1, 2], "$(id)", "1\n2"]
)
def test_a_wrong_number_of_gpus_is_refused_in_words_and_starts_nothing(
    grace: PortalClient, token: str, no_session: None, gpus: object
) -> None:
    answer = grace.rest("POST", f"/users/{USER}/server", token, json={"gpus": gpus})

    assert answer.status_code == 400
    message = answer.json()["message"]
    assert "GPU" in message
    assert "4" in message, "the limit is named"
    assert "Traceback" not in message
    assert sessions_of(USER) == []
    assert not server(grace, token)


@pytest.mark.parametrize(
    "options",
    [
        {"gpus": 1, "prologue": "id > /tmp/owned"},
        {"runtime": "99-00:00:00"},
        {"gres": "gpu:8"},
        {"options": "--uid=0"},
        {"exec_prefix": ""},
    ],
    ids=lambda options: ",".join(options),
)
def test_an_option_outside_the_form_is_refused(
    grace: PortalClient, token: str, no_session: None, options: dict
) -> None:
    answer = grace.rest("POST", f"/users/{USER}/server", token, json=options)

    assert answer.status_code == 400
    assert sessions_of(USER) == []


def session_token(job: QueuedJob) -> str:
    """The token that the user holds inside the session, read as the user could."""
    pids = subprocess.run(
        ["pgrep", "-u", USER, "-f", "singleuser"], check=True, capture_output=True, text=True
    ).stdout.split()
    for pid in pids:
        with open(f"/proc/{pid}/environ", "rb") as file:
            for item in file.read().split(b"\0"):
                if item.startswith(b"JUPYTERHUB_API_TOKEN="):
                    return item.partition(b"=")[2].decode()
    raise LookupError(f"no process of {job} holds a token")


def test_a_user_cannot_replace_commands_of_the_hub(
    grace: PortalClient, token: str, no_session: None
) -> None:
    """The batchspawner handler let every user run commands as the hub's account."""
    job = start(grace, token, {})
    wait_until_ready(grace, token)
    attack = {"exec_prefix": "", "batch_query_cmd": "id"}

    inside = session_token(job)

    assert grace.rest("POST", "/batchspawner", inside, json=attack).status_code == 404
    answer = grace.rest("POST", "/dsportal/port", inside, json={**attack, "port": 30_000})
    assert answer.status_code == 400
    assert "with one integer N" in answer.json()["message"]
    assert server(grace, token).get("ready")


def test_a_token_of_one_user_starts_nothing_for_another() -> None:
    ada = PortalClient("ada")
    ada.login()

    answer = ada.rest("POST", f"/users/{USER}/server", ada.token(), json={"gpus": 1})

    assert answer.status_code == 404


def test_the_hub_answers_while_a_session_starts(
    grace: PortalClient, token: str, no_session: None
) -> None:
    start(grace, token, {})

    assert requests.get(f"{ADDRESS}/hub/health", timeout=2).ok
