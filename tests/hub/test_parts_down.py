"""What a user sees while LDAP or Slurm is away: a sentence, in time, and nothing else stops."""

import pytest
import requests

from deploy.one_machine.supervisor import pid_of
from tests.support import parts
from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, sessions_of

pytestmark = pytest.mark.cluster


def test_starting_a_session_while_slurm_is_down_says_so_and_leaves_no_job() -> None:
    grace = PortalClient("grace")
    grace.login()
    token = grace.token()

    with parts.stopped("slurmctld"):
        answer = grace.rest("POST", "/users/grace/server", token, json={"gpus": 1})
        assert answer.status_code == 503
        assert "Slurm is not responding" in answer.json()["message"]
        assert not grace.rest("GET", "/users/grace", token).json()["servers"]
        form = grace.http.get(f"{ADDRESS}/hub/spawn/grace", timeout=30)
        assert form.status_code < 500
        assert "Slurm" in form.text

    eventually(lambda: sessions_of("grace") == [], timeout_s=30)


def test_a_proxy_that_was_killed_leads_to_the_sessions_again_without_the_hub_being_restarted() -> (
    None
):
    grace = PortalClient("grace")
    grace.login()
    token = grace.token()
    grace.rest("POST", "/users/grace/server", token, json={"gpus": 1}).raise_for_status()
    hub_before = pid_of("hub")
    try:
        eventually(answers_of_session, timeout_s=120)
        parts.kill("proxy")
        parts.start("proxy")
        # JupyterHub itself looks every five minutes.
        eventually(answers_of_session, timeout_s=30)
        assert pid_of("hub") == hub_before
    finally:
        grace.rest("DELETE", "/users/grace/server", token)
        eventually(lambda: sessions_of("grace") == [], timeout_s=60)


def answers_of_session() -> bool:
    return requests.get(f"{ADDRESS}/user/grace/api", timeout=30).status_code == 200
