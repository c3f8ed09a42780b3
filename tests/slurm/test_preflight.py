"""What is found before a job is queued: a full home, and file systems that do not answer."""

import json
import pwd
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.slurm.conftest import USER, sessions, start, wait_until_ready
from tests.support.mounts import full_home, hanging_mount
from tests.support.private_hub import ACCOUNT, PrivateHub

pytestmark = pytest.mark.cluster

LAUNCHER = "/opt/data-scientist-portal/libexec/dsportal-launcher"


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/srv") as name:
        yield Path(name)


def ask(checks: dict[str, Any]) -> dict[str, Any]:
    """Have the launcher look as the user, as the hub does."""
    done = subprocess.run(
        ["sudo", "-n", "-u", ACCOUNT, "sudo", "-n", "-H", "-u", USER, LAUNCHER],
        input=json.dumps({"verb": "storage_checks", "checks": checks}),
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)["checks"]
    return found


def test_a_rescue_session_starts_although_the_home_is_full_and_writes_nothing_there(
    hub: PrivateHub,
) -> None:
    with full_home(USER) as home:
        start(hub, {"rescue": 1})
        wait_until_ready(hub)

        (job,) = sessions()
        asked = subprocess.run(
            ["squeue", "-h", "-j", str(job.job_id), "-o", "%C|%m|%b|%l"],
            check=True,
            capture_output=True,
            text=True,
            timeout=30,
        ).stdout
        assert asked.strip() == "1|2G|N/A|1:00:00"
        files = [path.name for path in home.rglob("*") if path.is_file()]
        assert files == ["big"]


def test_a_home_that_hangs_is_told_in_seconds_while_the_hub_answers_others(
    hub: PrivateHub,
) -> None:
    with hanging_mount(Path(pwd.getpwnam(USER).pw_dir)):
        before = time.monotonic()
        asking = start(hub)
        longest_s = 0.0
        while asking.is_alive():
            began = time.monotonic()
            assert requests.get(f"{hub.address}/health", timeout=5).ok
            longest_s = max(longest_s, time.monotonic() - began)
            time.sleep(0.05)

        assert time.monotonic() - before < 8
        assert longest_s < 1
        assert "Your home folder did not answer within 3 s" in hub.log()
        assert sessions() == []


def test_shared_storage_that_hangs_is_not_waited_for_and_nothing_of_the_check_stays(
    folder: Path,
) -> None:
    with hanging_mount(folder):
        before = time.monotonic()

        found = ask({"timeout_s": 1, "shared": {"path": str(folder), "is_mount": True}})

        assert found == {"shared": {"fault": "no-answer"}}
        assert time.monotonic() - before < 4
        left = subprocess.run(["pgrep", "-u", USER, "-f", "dsportal-storage-checks"], check=False)
        assert left.returncode == 1, "a killed check is gone"


def test_each_fault_of_the_shared_storage_has_its_name(folder: Path) -> None:
    def fault(path: Path, *, is_mount: bool = False) -> str:
        found = ask({"shared": {"path": str(path), "is_mount": is_mount}})
        return str(found["shared"]["fault"])

    assert fault(folder) == "unreadable"
    folder.chmod(0o755)
    assert fault(folder) == ""
    assert fault(folder, is_mount=True) == "unmounted"
    assert fault(folder / "gone") == "missing"
