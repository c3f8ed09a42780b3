"""What the job of a kernel leaves behind."""

import subprocess
import sys
from pathlib import Path

import pytest

from portal.server.kernel_jobs.handover import ORDER, Order, Progress
from tests.support.eventually import eventually


@pytest.mark.parametrize("is_given_up", [True, False], ids=["given-up", "at-its-limit"])
def test_a_folder_that_the_server_was_removing_is_gone_when_the_job_has_ended(
    tmp_path: Path, is_given_up: bool
) -> None:
    folder = tmp_path / "kernel-1"
    folder.mkdir(mode=0o700)
    order = Order(argv=["sleep", "600"], environ={}, working_dir="/", session_job_id="1")
    order.write(folder)
    job = subprocess.Popen([sys.executable, "-m", "portal.server.kernel_jobs.job", str(folder)])
    try:
        eventually(lambda: Progress.read(folder).n_starts == 1, timeout_s=30)
        if is_given_up:
            # What the job writes at that moment keeps the folder from being removed with the rest.
            (folder / ORDER).unlink()
        job.terminate()
        assert job.wait(30) == 0
    finally:
        job.kill()

    assert folder.exists() != is_given_up
    assert is_given_up or Progress.read(folder).is_over
