"""A hub whose database has no room left: nobody is lost, and nobody stays pending."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.conftest import USER, cancel_all, sessions, start, wait_until_ready
from tests.support.eventually import eventually
from tests.support.mounts import SmallDisk, small_disk
from tests.support.private_hub import PrivateHub

pytestmark = pytest.mark.cluster

SENTENCE = "The disk of the portal's database is full"
QUICK = {"watch_running_s": 2.0}


@pytest.fixture
def small_hub(tmp_path: Path) -> Iterator[tuple[PrivateHub, SmallDisk]]:
    """A hub with its database on a disk of its own, and its log elsewhere."""
    hub = PrivateHub()
    hub.log_path = tmp_path / "hub.log"
    try:
        with small_disk(hub.folder) as disk:
            hub.start(**QUICK)
            hub.rest("POST", f"/users/{USER}")
            yield hub, disk
            hub.kill()
    finally:
        cancel_all()
        hub.close()


def test_a_start_is_refused_in_a_sentence_and_goes_well_as_soon_as_there_is_room(
    small_hub: tuple[PrivateHub, SmallDisk],
) -> None:
    hub, disk = small_hub
    disk.fill()

    for _ in range(3):
        answer = hub.rest("POST", f"/users/{USER}/server", {"gpus": 1})
        assert answer.status_code == 507, answer.text
        assert SENTENCE in answer.json()["message"]
        assert not hub.server(USER), "who asks is known, and nothing is pending"
    assert not sessions()
    disk.free()

    start(hub)
    wait_until_ready(hub)


@pytest.mark.release
def test_a_hub_that_is_killed_and_started_on_a_full_disk_keeps_its_session(
    small_hub: tuple[PrivateHub, SmallDisk],
) -> None:
    hub, disk = small_hub
    start(hub)
    wait_until_ready(hub)
    before = hub.session(USER)
    disk.fill()
    hub.kill()
    hub.start(**QUICK)

    wait_until_ready(hub)
    assert hub.session(USER) == before
    # The job ends at once, whether that can be kept or not.
    hub.rest("DELETE", f"/users/{USER}/server")
    eventually(lambda: not sessions(), timeout_s=30)
    disk.free()

    eventually(lambda: not hub.server(USER), timeout_s=30)
    start(hub)
    wait_until_ready(hub)
