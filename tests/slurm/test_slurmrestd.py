"""slurmrestd tells the same as squeue, and a hub follows its sessions by it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spawner.errors import SlurmUnavailableError
from spawner.jobs import JobKey
from spawner.script import Job
from spawner.slurm import Slurm
from spawner.slurmrestd import Slurmrestd
from spawner.states import Phase
from spawner.traits import SiteTraits
from tests import parts
from tests.eventually import eventually, eventually_async
from tests.private_hub import ACCOUNT, PrivateHub
from tests.slurm.conftest import USER, sessions, start, wait_until_ready

pytestmark = pytest.mark.cluster

VERSION = "v0.0.38"


@pytest.fixture(scope="module")
def socket_path() -> Iterator[str]:
    """A slurmrestd as a site would run one for the portal."""
    folder = Path(tempfile.mkdtemp(prefix="slurmrestd-"))
    shutil.chown(folder, ACCOUNT)
    path = folder / "socket"
    argv = ["slurmrestd", "-a", "rest_auth/local", "-s", f"openapi/{VERSION}", f"unix:{path}"]
    process = subprocess.Popen(argv, user=ACCOUNT, group=ACCOUNT, extra_groups=[])
    try:
        eventually(path.exists, timeout_s=20)
        yield str(path)
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder)


@pytest.fixture
def slurm() -> Slurm:
    traits = SiteTraits()
    return Slurm(launcher_argv=traits.launcher_argv, sudo_argv=traits.sudo_argv)


async def test_slurmrestd_and_squeue_tell_the_same_of_a_job(socket_path: str, slurm: Slurm) -> None:
    rest = Slurmrestd(socket_path, version=VERSION, timeout_s=10)
    name = "contract-of-slurmrestd"
    options = ("--time=00:02:00", "--mem=100M", "--comment=a job of two sources")
    job = Job(
        argv=(f"--job-name={name}", *options), script='#!/bin/bash\necho "|"; exec sleep 60\n'
    )
    job_id = (await slurm.submit(USER, job, {})).job_id

    async def is_running_and_same() -> bool:
        ours, theirs = await rest.list_jobs([job_id]), await slurm.list_jobs([job_id])
        return ours == theirs and bool(ours) and ours[0].state.phase is Phase.RUNNING

    async def is_over_and_same() -> bool:
        ours, theirs = await rest.list_jobs([job_id]), await slurm.list_jobs([job_id])
        return ours == theirs and bool(ours) and ours[0].state.phase is Phase.OVER

    await eventually_async(is_running_and_same, 30)
    assert await slurm.cancel(JobKey(job_id=job_id, user=USER, name=name))
    await eventually_async(is_over_and_same, 30)
    assert await rest.list_jobs([4_000_000]) == []


async def test_slurmrestd_without_its_controller_is_no_statement_about_any_job(
    socket_path: str,
) -> None:
    rest = Slurmrestd(socket_path, version=VERSION, timeout_s=30)

    with parts.stopped("slurmctld"), pytest.raises(SlurmUnavailableError):
        await rest.list_jobs([1])


def test_a_hub_follows_its_sessions_through_slurmrestd(hub: PrivateHub, socket_path: str) -> None:
    hub.start(slurmrestd_socket=socket_path, watch_running_s=2.0)
    n_seen = len(hub.log())
    start(hub)
    wait_until_ready(hub)
    (job,) = sessions()

    subprocess.run(["scancel", str(job.job_id)], check=True)

    eventually(lambda: not hub.server(USER), timeout_s=40)
    assert "squeue is asked" not in hub.log()[n_seen:]
