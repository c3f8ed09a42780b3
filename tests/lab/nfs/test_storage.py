"""What the file server of these tests does, so that the others mean something."""

import subprocess

import pytest

from tests.lab.nfs.conftest import HOME, SHARED, USER
from tests.lab.nfs.file_server import FileServer
from tests.support.mounts import node_places

pytestmark = pytest.mark.cluster


def as_user(script: str, place: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script as the user, on the head or a node."""
    words = ["runuser", "-u", USER, "--", "sh", "-c", script]
    return subprocess.run(
        [*(place or []), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_root_has_no_rights_in_a_home_and_owns_nothing_there(nfs: FileServer) -> None:
    as_user(f"echo private > {HOME}/private").check_returncode()

    read = subprocess.run(["cat", HOME / "private"], capture_output=True, text=True, check=False)
    written = subprocess.run(["touch", HOME / "new"], capture_output=True, text=True, check=False)

    assert "Permission denied" in read.stderr
    assert "Permission denied" in written.stderr


def test_a_node_sees_at_opening_what_another_machine_has_closed(nfs: FileServer) -> None:
    node = node_places()[0]
    as_user(f"echo first > {HOME}/seen").check_returncode()
    assert as_user(f"cat {HOME}/seen", node).stdout == "first\n"

    as_user(f"echo second > {HOME}/seen", node).check_returncode()

    assert as_user(f"cat {HOME}/seen").stdout == "second\n"


def test_a_quota_is_told_when_the_file_is_closed(nfs: FileServer) -> None:
    user_id = HOME.stat().st_uid
    nfs.limit(user_id, 4)
    try:
        done = as_user(f"dd if=/dev/zero of={HOME}/big bs=1M count=8")
    finally:
        as_user(f"rm -f {HOME}/big")
        nfs.limit(user_id, 0)

    assert "Disk quota exceeded" in done.stderr


def test_the_shared_storage_is_the_servers(nfs: FileServer) -> None:
    as_user(f"echo shared > {SHARED}/projects/file").check_returncode()

    assert nfs.order("cat", "/run/export/shared/projects/file") == "shared\n"
