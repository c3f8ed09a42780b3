"""Why another session of one's own waits, on the real Slurm."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.hub.test_kernel_gpus import site_with
from tests.hub.test_laptop import WAITS_FOR_OTHERS, laptop_of, said
from tests.support.eventually import eventually
from tests.support.laptop import NAME, Laptop

pytestmark = pytest.mark.cluster

SECOND = "second"
Ask = Callable[..., subprocess.CompletedProcess[str]]
TWO_SESSIONS = "\n[choices]\nsessions_per_user = 2\n"


def test_a_second_session_that_waits_says_why_on_the_laptop_and_in_the_first(
    tmp_path: Path, full_cluster: None
) -> None:
    with site_with(lambda settings: settings + TWO_SESSIONS), laptop_of(tmp_path) as laptop:
        said(laptop.portal("start", "--gpus", "0"))
        try:
            queue(laptop)

            for ask in (on_laptop, in_session):
                # Slurm's forecast comes with its next round.
                words = eventually(partial(forecast, laptop, ask), 90)
                assert re.search(WAITS_FOR_OTHERS, words)
                assert re.search("Place in the queue: (at the front|about [0-9])", words)
                assert "Your session runs" in said(ask(laptop))
        finally:
            said(laptop.portal("stop", "--session", SECOND))


def queue(laptop: Laptop) -> None:
    words = ("start", "--session", SECOND, "--gpus", "1")
    with laptop.running(sys.executable, str(laptop.archive), *words) as start:
        assert start.stdout is not None
        assert any(re.search(WAITS_FOR_OTHERS, line) for line in iter(start.stdout.readline, ""))
        start.send_signal(signal.SIGINT)
        start.wait(timeout=30)
    listed = json.loads(said(laptop.portal("list", "--json")))
    assert [(one["name"], one["state"]) for one in listed] == [("", "runs"), (SECOND, "waits")]


def forecast(laptop: Laptop, ask: Ask) -> str:
    """Return why the second session waits, or "" before Slurm has said when it would start."""
    words = said(ask(laptop, SECOND))
    return words if re.search("Expected start: .*about", words) else ""


def on_laptop(laptop: Laptop, *names: str) -> subprocess.CompletedProcess[str]:
    return laptop.portal("why", *names)


def in_session(laptop: Laptop, *names: str) -> subprocess.CompletedProcess[str]:
    return laptop.ssh(NAME, " ".join(("dsportal why", *names)))
