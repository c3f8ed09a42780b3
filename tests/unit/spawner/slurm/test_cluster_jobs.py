"""All jobs of the cluster from what squeue prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsportal.slurm.states import Phase
from spawner.slurm.cluster_jobs import parse_cluster_jobs

GOLDEN = Path(__file__).parents[1] / "golden" / "slurm-22.05" / "squeue-cluster.txt"


def test_a_capture_of_squeue_gives_running_and_waiting_jobs_with_all_their_gpus() -> None:
    jobs = parse_cluster_jobs(GOLDEN.read_text())

    assert [
        (job.job_id, job.user, job.phase, job.n_nodes, job.n_gpus, job.left_s, job.reason)
        for job in jobs
    ] == [
        (30, "grace", Phase.WAITING, 2, 8, 300, "Resources"),
        (31, "grace", Phase.WAITING, 1, 4, 300, "BeginTime"),
        (32, "grace", Phase.WAITING, 1, 3, 300, "Dependency"),
        (29, "ada", Phase.RUNNING, 2, 4, 117, "None"),
    ]
    assert {job.partitions for job in jobs} == {("jupyter",)}
    assert [job.starts_at for job in jobs if job.job_id in {29, 32}] == ["", "2026-11-23T06:37:22"]


def test_a_job_may_wait_in_several_partitions_for_a_reason_of_several_words() -> None:
    (job,) = parse_cluster_jobs(
        "7 ada PD long,short 1 N/A UNLIMITED cpu=8 Nodes required for job are DOWN\n"
    )

    assert (job.partitions, job.left_s, job.n_gpus) == (("long", "short"), None, 0)
    assert job.reason == "Nodes required for job are DOWN"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "slurm_load_jobs error: Unable to contact slurm controller",
        "7 ada PD long 1 N/A UNLIMITED cpu=8",
        "x ada PD long 1 N/A 5:00 cpu=8 None",
        "7 ada PD long some N/A 5:00 cpu=8 None",
    ],
)
def test_other_lines_are_skipped(line: str) -> None:
    assert parse_cluster_jobs(line) == ()
