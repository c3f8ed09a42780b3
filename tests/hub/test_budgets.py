"""A budget of GPU hours in Slurm's accounting that is nearly used up."""

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from spawner.slurm.budgets import ASSOC_MGR_ARGV
from tests.sessions.test_laptop import NOTEBOOK
from tests.support import parts
from tests.support.eventually import eventually
from tests.support.portal_client import PortalClient, sessions_of
from tests.support.put_back import put_back

pytestmark = pytest.mark.cluster

USER = "grace"
TIMEOUT_S = 30
# Whole minutes count as used, so it may be a little less.
LEFT = re.compile(r"\b(?:5|4\.9) of [0-9.]+ GPU hours left in research\.")


@pytest.fixture(scope="module")
def five_gpu_hours() -> Iterator[None]:
    """As much more as all jobs before have used."""
    known = subprocess.run(ASSOC_MGR_ARGV, check=True, capture_output=True, text=True, timeout=60)
    used_min = re.search(
        r" Account=research UserName= .*? GrpTRESMins=\S*gres/gpu=\w+\((\d+)\)", known.stdout
    )
    assert used_min is not None, known.stdout
    change = ("sacctmgr", "-i", "modify", "account", "research", "set")
    with put_back((*change, "GrpTRESMins=gres/gpu=-1")):
        argv = (*change, f"GrpTRESMins=gres/gpu={int(used_min[1]) + 300}")
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=60)
        forget_budgets()
        yield


def forget_budgets() -> None:
    """Have the hub ask Slurm, which it does again after half a minute, or two if many have."""
    parts.stop("hub")
    parts.start("hub")


@pytest.fixture(scope="module")
def client(five_gpu_hours: None) -> PortalClient:
    client = PortalClient(USER)
    assert client.login().ok
    eventually(lambda: "GPU hours left" in choices_of(client)["budget"], timeout_s=150)
    return client


def choices_of(client: PortalClient) -> dict[str, Any]:
    """Return what the form's script shows for sessions of 4 hours."""
    address = f"{client.address}/hub/portal/choices/{USER}"
    answer = client.http.get(address, params={"hours": "4"}, timeout=TIMEOUT_S)
    assert answer.ok, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_what_would_use_more_than_is_left_is_refused_before_the_queue(
    client: PortalClient,
) -> None:
    told = choices_of(client)

    assert LEFT.search(told["budget"])
    one, two = (next(c for c in told["choices"] if c["n_gpus"] == n) for n in (1, 2))
    assert (one["refusal"], "May use 4 GPU hours." in one["note"]) == ("", True)
    assert "left in research, and this may use 8. Ask for 2." in two["refusal"]
    path, asked = f"/users/{USER}/server", {"gpus": 2, "hours": 4}
    answer = client.rest("POST", path, client.token(), json=asked)
    assert answer.status_code == 400
    assert "You asked for 2 GPUs for 4 hours." in answer.json()["message"]
    assert sessions_of(USER) == []


def test_the_home_page_says_what_is_left(client: PortalClient) -> None:
    home = client.http.get(f"{client.address}/hub/home", timeout=TIMEOUT_S).text

    assert LEFT.search(home)
    assert "Your fair share is" in home


def test_jobs_of_a_session_are_held_to_it(client: PortalClient) -> None:
    token = client.token()
    client.start(token, gpus=0)
    try:
        session = f"{client.address}/user/{USER}/portal/api"
        headers = {"Authorization": f"token {token}"}

        choices = requests.get(f"{session}/kernel-gpus", headers=headers, timeout=TIMEOUT_S)
        notebook = {"type": "notebook", "format": "json", "content": NOTEBOOK}
        contents = f"{client.address}/user/{USER}/api/contents/budget.ipynb"
        requests.put(contents, json=notebook, headers=headers, timeout=TIMEOUT_S).raise_for_status()
        asked = {"path": "budget.ipynb", "gpus": 2, "hours": 4}
        job = requests.post(
            f"{session}/notebook-jobs", json=asked, headers=headers, timeout=TIMEOUT_S
        )

        assert LEFT.search(choices.json()["budget"])
        assert job.status_code == 400
        assert "You asked for 2 GPUs for 4 hours." in job.json()["message"]
        requests.delete(contents, headers=headers, timeout=TIMEOUT_S).raise_for_status()
    finally:
        client.stop(token)


def test_a_budget_that_was_raised_counts_at_once(client: PortalClient) -> None:
    token, path, asked = client.token(), f"/users/{USER}/server", {"gpus": 2, "hours": 4}
    assert client.rest("POST", path, token, json=asked).status_code == 400

    raised = ("sacctmgr", "-i", "modify", "account", "research", "set", "GrpTRESMins=gres/gpu=-1")
    subprocess.run(raised, check=True, stdout=subprocess.DEVNULL, timeout=60)

    client.start(token, **asked)
    client.stop(token)


@pytest.fixture
def hall(client: PortalClient) -> Iterator[None]:
    """Give the partition a QOS with five GPU hours."""
    partition = ("scontrol", "update", "PartitionName=jupyter")
    remove = ("sacctmgr", "-i", "delete", "qos", "where", "name=hall")
    with put_back((*partition, "QOS="), remove):
        add = ("sacctmgr", "-i", "add", "qos", "hall", "set", "GrpTRESMins=gres/gpu=300")
        for argv in (add, (*partition, "QOS=hall")):
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=60)
        forget_budgets()
        yield


def test_the_budget_of_the_partitions_own_qos_counts(client: PortalClient, hall: None) -> None:
    eventually(lambda: "left in the QOS hall." in choices_of(client)["budget"], timeout_s=150)

    asked = {"gpus": 2, "hours": 4}
    answer = client.rest("POST", f"/users/{USER}/server", client.token(), json=asked)

    assert answer.status_code == 400
    assert "left in the QOS hall, and this may use 8." in answer.json()["message"]
