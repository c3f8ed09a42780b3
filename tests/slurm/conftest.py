"""A hub of the tests' own, and a cluster without sessions of the test's user."""

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import requests

from tests.support.eventually import eventually
from tests.support.private_hub import PrivateHub
from tests.support.put_back import put_back
from tests.support.second_cluster import CLUSTERS, NAME, SLURM_CONF, SecondCluster

USER = "grace"


@dataclass(frozen=True)
class QueuedJob:
    """One line of squeue."""

    job_id: int
    state: str
    name: str


def jobs_of(user: str) -> list[QueuedJob]:
    """Return the jobs of a user that wait or run."""
    text = subprocess.run(
        ["squeue", "-h", "-u", user, "-o", "%i|%T|%j"],
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    ).stdout
    fields = (line.split("|", 2) for line in text.splitlines())
    return [QueuedJob(int(job_id), state, name) for job_id, state, name in fields]


@pytest.fixture(scope="module")
def module_hub() -> Iterator[PrivateHub]:
    hub = PrivateHub()
    try:
        yield hub
    finally:
        hub.close()


@pytest.fixture
def hub(request: pytest.FixtureRequest, module_hub: PrivateHub) -> Iterator[PrivateHub]:
    """A hub with the settings of the test's mark, started only where the last one had others."""
    mark = request.node.get_closest_marker("hub")
    module_hub.start(**mark.kwargs if mark else {})
    module_hub.rest("POST", f"/users/{USER}")
    yield module_hub
    module_hub.start_as_before()
    module_hub.rest("DELETE", f"/users/{USER}/server")
    cancel_all()


@pytest.fixture
def volta() -> Iterator[SecondCluster]:
    """A second cluster, whose next job has the id of the first one's next job."""
    with running(SecondCluster()) as cluster:
        yield cluster


@pytest.fixture
def accounted_volta() -> Iterator[SecondCluster]:
    """As `volta`, in the accounting of the first cluster."""
    with running(SecondCluster(has_accounting=True)) as cluster:
        yield cluster


@contextmanager
def running(cluster: SecondCluster) -> Iterator[SecondCluster]:
    config = subprocess.run(
        ["scontrol", "show", "config"], check=True, capture_output=True, text=True, timeout=30
    ).stdout
    (next_id,) = re.findall(r"^NEXT_JOB_ID\s*= (\d+)", config, re.MULTILINE)
    with put_back(("rm", "-f", CLUSTERS)):
        CLUSTERS.write_text(f"{NAME}={SLURM_CONF}\n")
        try:
            cluster.start(int(next_id))
            yield cluster
        finally:
            cluster.close()


def cancel_all() -> None:
    """End every job of the test's user that a session left behind."""
    for job in sessions():
        subprocess.run(["scancel", str(job.job_id)], check=True, timeout=30)
    eventually(lambda: not sessions(), timeout_s=30)


def sessions() -> list[QueuedJob]:
    """Return the jobs of the test's user that are sessions."""
    return [job for job in jobs_of(USER) if job.name.startswith("dsportal-")]


def release() -> None:
    """Let the held jobs of sessions start."""
    for job in sessions():
        subprocess.run(["scontrol", "release", str(job.job_id)], check=True, timeout=30)


def session_token() -> str:
    """The token in the session's own environment, as its user could read it."""
    pids = subprocess.run(
        ["pgrep", "-u", USER, "-f", "private-hub"], check=True, capture_output=True, text=True
    ).stdout.split()
    for pid in pids:
        with open(f"/proc/{pid}/environ", "rb") as file:
            for item in file.read().split(b"\0"):
                if item.startswith(b"JUPYTERHUB_API_TOKEN="):
                    return item.partition(b"=")[2].decode()
    raise LookupError("no process of a session")


def start(hub: PrivateHub, options: object = None) -> threading.Thread:
    """Ask for a session without waiting for the answer."""

    def ask() -> None:
        try:
            hub.rest("POST", f"/users/{USER}/server", options or {"gpus": 1})
        except requests.ConnectionError:
            return

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def wait_until_ready(hub: PrivateHub) -> None:
    eventually(lambda: hub.server(USER).get("ready"), timeout_s=60)
