"""The job of a kernel as sbatch is asked for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from portal.server.kernel_jobs.slurm import JobRequest, expected_start, sbatch_argv
from spawner.slurm.jobs import NAME_PREFIX
from spawner.slurm.resources import Resources

REQUEST = JobRequest(
    session_job_id="77",
    resources=Resources(n_gpus=2, n_cores=16, memory_mib=98_304),
    gpu_type="v100",
    walltime_s=3600,
    folder=Path("/home/ada/f"),
    command=("python",),
    partition="gpu",
)


def test_a_job_names_its_session_and_is_none_itself() -> None:
    argv = sbatch_argv(REQUEST)

    assert "--job-name=kernel-of-77" in argv
    assert not "kernel-of-77".startswith(NAME_PREFIX)
    assert {"--gpus-per-node=v100:2", "--cpus-per-task=16", "--mem=98304M"} <= {*argv}
    assert {"--partition=gpu", "--output=/home/ada/f/job.log", "--no-requeue"} <= {*argv}
    assert not [word for word in argv if word.startswith(("--account", "--qos"))]


def test_shards_of_a_gpu_are_asked_for_as_a_gres_of_their_own() -> None:
    argv = sbatch_argv(replace(REQUEST, gpu_type="shard"))

    assert "--gres=shard:2" in argv
    assert not [word for word in argv if word.startswith("--gpus")]


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("2026-11-20T12:25:00", "Slurm expects it to start in 25 min."),
        ("2026-11-20T12:00:30", "Slurm expects it to start any moment."),
        # squeue looks at its forecast only now and then.
        ("2026-11-20T11:59:00", "Slurm expects it to start any moment."),
        ("N/A", ""),
        ("", ""),
    ],
)
def test_the_expected_start_of_a_job_that_waits_is_said_if_slurm_knows_it(
    moment: str, words: str
) -> None:
    assert expected_start(moment, datetime(2026, 11, 20, 12).timestamp()) == words
