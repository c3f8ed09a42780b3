"""What jobs of others mean for a session, as its user reads it on a laptop, on the real Slurm."""

import json
import re
import signal
import sys

import pytest
import requests

from dsportal.diagnosis import explain_waiting
from tests.sessions.test_laptop import USER, laptop, said
from tests.support.eventually import eventually
from tests.support.laptop import NAME, Laptop
from tests.support.portal_client import sessions_of

pytestmark = pytest.mark.cluster
__all__ = ["laptop"]

WAITS_FOR_OTHERS = "|".join(
    re.escape(explain_waiting(reason).sentence) for reason in ("Resources", "Priority")
)


def test_a_session_that_waits_says_why_and_waits_on_after_ctrl_c(
    laptop: Laptop, full_cluster: None
) -> None:
    with laptop.running(sys.executable, str(laptop.archive), "start", "--gpus", "1") as start:
        assert start.stdout is not None
        lines = iter(start.stdout.readline, "")
        assert any(re.search(WAITS_FOR_OTHERS, line) for line in lines)
        start.send_signal(signal.SIGINT)
        assert "Your session still waits." in start.stdout.read()
        assert start.wait(timeout=30) == 130

    assert re.search(WAITS_FOR_OTHERS, said(laptop.portal("why")))
    assert json.loads(said(laptop.portal("list", "--json")))[0]["state"] == "waits"
    said(laptop.portal("stop"))
    eventually(lambda: not sessions_of(USER), timeout_s=20)


# A job of anybody that waits would have priority.
def test_a_session_gets_more_time_and_its_kernel_gpus(laptop: Laptop) -> None:
    said(laptop.portal("start", "--hours", "1"))
    left = re.compile("[0-9]+ h .*are left\\.\n")

    assert left.fullmatch(said(laptop.portal("extend")))
    assert left.fullmatch(said(laptop.ssh(NAME, "dsportal extend")))
    assert "No notebook is open" in laptop.portal("gpu").stderr
    token = (laptop.home / f".ssh/dsportal/{NAME}/token").read_text().strip()
    opened = requests.post(
        f"{laptop.address}/user/{USER}/api/sessions",
        json={"path": "a.ipynb", "type": "notebook", "name": "", "kernel": {"name": "python3"}},
        headers={"Authorization": f"token {token}"},
        timeout=60,
    )
    opened.raise_for_status()
    assert said(laptop.portal("gpu", "1")).startswith("a.ipynb: ")
    eventually(
        lambda: json.loads(said(laptop.portal("gpu", "--json")))[0]["gpus"] == 1, timeout_s=60
    )
    assert json.loads(said(laptop.ssh(NAME, "dsportal gpu --json")))[0]["gpus"] == 1
    said(laptop.ssh(NAME, "dsportal gpu 0"))
    eventually(
        lambda: json.loads(said(laptop.portal("gpu", "--json")))[0]["gpus"] == 0, timeout_s=60
    )

    # It ends the connection, too.
    assert laptop.ssh(NAME, "dsportal stop --yes").stdout == "Your session stops.\n"
    eventually(lambda: not sessions_of(USER), timeout_s=30)
