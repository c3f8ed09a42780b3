"""What the kernels of a session hold, in the lists of the hub."""

from datetime import timedelta
from typing import Any

from dsportal.slurm.states import Phase
from portal.hub.pages.all_sessions import describe_administration
from portal.hub.pages.kernel_gpus import NONE, KernelGpus, find_kernel_gpus
from spawner.slurm.cluster_jobs import ClusterJob
from tests.support.session_rows import session_row
from tests.unit.portal.hub.pages.test_cluster_rows import NOW, job

TWO_HOURS_AGO = f"{NOW - timedelta(hours=2):%Y-%m-%dT%H:%M:%S}"


def kernel(job_id: int, phase: Phase = Phase.RUNNING, **changes: Any) -> ClusterJob:
    known = {"session_job_id": 3, "starts_at": TWO_HOURS_AGO}
    return job(job_id, phase, **known | changes)


def test_running_jobs_of_a_sessions_kernels_are_added_up() -> None:
    jobs = [
        kernel(4),
        kernel(5, n_gpus=1, partitions=("gpu",)),
        kernel(6, Phase.WAITING),
        kernel(7, session_job_id=9),
        job(3),
    ]

    found = find_kernel_gpus(jobs, 3, NOW)

    expected = KernelGpus(n_kernels=2, n_gpus=3, hours=6.0, partitions=("gpu", "jupyter"))
    assert found == expected
    assert found.words == "3 GPUs in 2 kernels"


def test_a_session_without_a_job_or_kernels_holds_nothing_more() -> None:
    assert find_kernel_gpus([job(4), kernel(5, session_job_id=0)], 0, NOW) == NONE
    assert NONE.words == ""


def test_administrators_see_gpus_and_hours_of_kernels_with_their_session() -> None:
    held = KernelGpus(n_kernels=1, n_gpus=2, hours=3.0)
    row = session_row("ada", n_gpus=0, since_s=7200.0, idle_s=7200.0, kernels=held)

    view = describe_administration([row])

    assert (view.n_gpus, view.n_idle_gpus, row.gpu_hours) == (2, 2, "3.0")
