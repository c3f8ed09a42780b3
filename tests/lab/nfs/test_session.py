"""A session whose home and shared storage are on NFS."""

import subprocess
import time

import pytest

from tests.lab.nfs.conftest import HOME, USER, Bystander, Session
from tests.lab.nfs.file_server import FileServer
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster
# A page of the hub that a storage that hangs holds up for no longer than this.
MOST_WAIT_S = 10


def test_a_session_has_templates_and_shared_storage_and_saves(running: Session) -> None:
    saved = running.save("saved.txt", "on the server")

    assert saved.status_code == 201, saved.text
    assert running.ask("GET", "api/contents/saved.txt").json()["content"] == "on the server"
    # The link is made beside the session where the storage is slow.
    eventually(lambda: running.ask("GET", "api/contents/isilon/projects").ok, timeout_s=60)
    found = eventually(lambda: running.ask("GET", "api/contents/templates").json(), timeout_s=60)
    assert "start-here.ipynb" in {entry["name"] for entry in found["content"]}


def test_a_session_starts_from_a_slow_server_while_the_hub_answers_others(
    user: Session, nfs: FileServer, bystander: Bystander
) -> None:
    with nfs.delayed(50), bystander:
        assert user.start().status_code in {201, 202}
        user.wait_until_ready()

    assert max(bystander.waits_s) < MOST_WAIT_S


def test_a_session_saves_to_a_server_that_has_become_slow(
    running: Session, nfs: FileServer
) -> None:
    with nfs.delayed(200):
        assert running.save("slow.txt", "slow").ok

    assert running.ask("GET", "api/contents/slow.txt").json()["content"] == "slow"


def test_a_server_that_hangs_refuses_a_start_in_words(
    user: Session, nfs: FileServer, bystander: Bystander
) -> None:
    with bystander, nfs.hanging():
        refused = user.start()
        user.page()

    assert refused.status_code == 409, refused.text
    assert "Your home folder did not answer within 3 s." in refused.json()["message"]
    assert "Try again in a few minutes" in refused.json()["message"]
    assert max(bystander.waits_s) < MOST_WAIT_S


@pytest.mark.parametrize("hangs_s", [20, 90])
def test_a_session_outlives_a_server_that_hangs(
    running: Session, nfs: FileServer, bystander: Bystander, hangs_s: int
) -> None:
    with bystander:
        with nfs.hanging():
            until = time.monotonic() + hangs_s
            eventually(lambda: time.monotonic() > until, hangs_s + 10, every_s=1)
            running.page()
        eventually(lambda: running.save("after.txt", "after").ok, 180, every_s=1)

    assert running.ask("GET", "api/contents/after.txt").json()["content"] == "after"
    assert max(bystander.waits_s) < MOST_WAIT_S


def test_a_session_is_stopped_while_the_server_hangs(
    running: Session, nfs: FileServer, bystander: Bystander
) -> None:
    with bystander:
        with nfs.hanging():
            stopped = running.stop()
            running.page()
        running.end()

    assert stopped.status_code in {202, 204}
    assert max(bystander.waits_s) < MOST_WAIT_S


def test_a_full_quota_is_told_and_a_rescue_session_makes_room(
    user: Session, nfs: FileServer
) -> None:
    user_id = HOME.stat().st_uid
    fill = f"dd if=/dev/zero of={HOME}/big bs=1M count=64"
    nfs.limit(user_id, 32)
    try:
        subprocess.run(["runuser", "-u", USER, "--", "sh", "-c", fill], check=False, timeout=120)
        refused = user.start()
        assert refused.status_code == 409, refused.text
        assert "Your home folder is full (" in refused.json()["message"]
        assert "Disk quota exceeded" in refused.json()["message"]

        assert user.rescue().status_code in {201, 202}
        user.wait_until_ready()
        assert not user.save("more.txt", "x" * 2**20).ok
        assert user.ask("DELETE", "api/contents/big").status_code == 204
        assert user.save("more.txt", "x" * 2**20).ok
    finally:
        nfs.limit(user_id, 0)
