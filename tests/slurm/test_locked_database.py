"""A database that another process holds: the hub answers, and no start is lost."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterator

import pytest
import requests

from tests.slurm.conftest import USER, sessions, start, wait_until_ready
from tests.support.eventually import eventually
from tests.support.private_hub import PrivateHub

pytestmark = pytest.mark.cluster


@contextlib.contextmanager
def locked(hub: PrivateHub, *, for_s: float = 0) -> Iterator[threading.Timer]:
    """Hold the lock of the hub's database as another process, for some seconds or for the block."""
    path = hub.folder / "hub.sqlite"
    with contextlib.closing(sqlite3.connect(path, timeout=30, check_same_thread=False)) as database:
        database.execute("BEGIN EXCLUSIVE")
        timer = threading.Timer(for_s, database.rollback)
        if for_s:
            timer.start()
        yield timer
        if for_s:
            timer.join()
        else:
            database.rollback()


def slowest_health_s(hub: PrivateHub, until: threading.Timer) -> float:
    """Ask for the hub's health again and again; return the longest time to an answer."""
    slowest_s = 0.0
    while until.is_alive():
        before = time.monotonic()
        requests.get(f"{hub.address}/health", timeout=30).raise_for_status()
        slowest_s = max(slowest_s, time.monotonic() - before)
    return slowest_s


def test_a_start_waits_for_a_locked_database_and_the_hub_answers_meanwhile(hub: PrivateHub) -> None:
    with locked(hub, for_s=3) as lock:
        asked = start(hub)
        before = time.monotonic()
        answer = hub.rest("GET", f"/users/{USER}")
        assert answer.status_code == 200, "a good token is good"
        assert time.monotonic() - before < 2
        assert slowest_health_s(hub, lock) < 2

    wait_until_ready(hub)
    asked.join(60)
    assert len(sessions()) == 1


@pytest.mark.hub(wait_s=2)
def test_a_start_under_way_survives_a_lock_at_every_step(hub: PrivateHub) -> None:
    asked = start(hub)
    eventually(sessions, timeout_s=30)
    for _ in range(4):
        with locked(hub, for_s=1) as lock:
            slowest_health_s(hub, lock)

    wait_until_ready(hub)
    asked.join(60)
    session, (job,) = hub.session(USER), sessions()
    assert session["job_id"] == job.job_id, "what was refused is saved"
    # The database has the same: it is what a killed hub starts from.
    hub.kill()
    hub.start(wait_s=2)
    wait_until_ready(hub)
    assert hub.session(USER) == session


@pytest.mark.release
def test_what_cannot_wait_any_longer_is_told_when_to_try_again(hub: PrivateHub) -> None:
    with locked(hub, for_s=20) as lock:
        answer = hub.rest("POST", f"/users/{USER}/server", {"gpus": 1})
        assert slowest_health_s(hub, lock) < 2

    assert answer.status_code == 503, answer.text
    assert answer.headers["Retry-After"] == "5"
    assert "Another program holds the portal's database" in answer.json()["message"]
    assert not hub.server(USER)
    start(hub)
    wait_until_ready(hub)
