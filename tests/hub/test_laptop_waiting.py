"""Why a session waits, as its user reads it on a laptop, on the real Slurm."""

import json
import re
import signal
import sys

import pytest

from dsportal.diagnosis import explain_waiting
from tests.sessions.test_laptop import USER, laptop, said
from tests.support.eventually import eventually
from tests.support.laptop import Laptop
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
