"""The numbers of a limit on GPUs, for a session that waits for it."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.slurm.conftest import USER, jobs_of, start
from tests.support.eventually import eventually
from tests.support.private_hub import PrivateHub
from tests.support.put_back import put_back

pytestmark = pytest.mark.cluster


@pytest.fixture
def two_gpus_per_user() -> Iterator[None]:
    change = ("sacctmgr", "-i", "modify", "qos", "normal", "set")
    with put_back((*change, "MaxTRESPerUser=gres/gpu=-1")):
        argv = (*change, "MaxTRESPerUser=gres/gpu=2")
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=60)
        yield


@pytest.fixture
def gpu_in_use() -> Iterator[None]:
    """A job of the user that is no session and holds one GPU."""
    argv = ["sbatch", "--parsable", "--gres=gpu:1", "--output=/dev/null", "--chdir=/"]
    done = subprocess.run(
        [*argv, "--wrap=sleep 600"], user=USER, check=True, capture_output=True, text=True
    )
    job_id = int(done.stdout)

    def is_running() -> bool:
        return any(job.job_id == job_id and job.state == "RUNNING" for job in jobs_of(USER))

    try:
        eventually(is_running, timeout_s=30)
        yield
    finally:
        subprocess.run(["scancel", str(job_id)], check=True, timeout=30)


# A hub reads the limits when it starts, which is after these.
@pytest.mark.usefixtures("gpu_in_use", "two_gpus_per_user")
def test_a_session_over_a_limit_says_how_many_gpus_are_held_and_allowed(hub: PrivateHub) -> None:
    start(hub, {"gpus": 2})

    def has_numbers() -> bool:
        steps = (hub.server(USER).get("state") or {}).get("start", {}).get("steps", [])
        texts = [step["message"] for step in steps if step["name"] == "queued"]
        assert any("You hold 1 GPU and ask for 2 more" in text for text in texts), texts
        return True

    eventually(has_numbers, timeout_s=60)
