"""What a script (or an attacker) sees of the portal through REST, on the real cluster."""

import subprocess
from collections.abc import Iterator

import pytest

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
    grace.stop(token)
    yield
    grace.stop(token)


def start(client: PortalClient, token: str, options: object) -> QueuedJob:
    answer = client.rest("POST", f"/users/{USER}/server", token, json=options)
    assert answer.status_code in {201, 202}, answer.text
    return eventually(lambda: sessions_of(USER)[0], timeout_s=20)


def wait_until_ready(client: PortalClient, token: str) -> None:
    eventually(lambda: client.server(token).get("ready"), timeout_s=90)


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
    assert grace.server(token)["ready"]


def test_a_session_that_still_starts_can_be_stopped(
    grace: PortalClient, token: str, no_session: None
) -> None:
    start(grace, token, {"gpus": 1})

    grace.rest("DELETE", f"/users/{USER}/server", token)

    eventually(lambda: not sessions_of(USER), timeout_s=10)
