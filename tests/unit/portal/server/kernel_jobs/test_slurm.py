"""The job of a kernel as sbatch is asked for it."""

from __future__ import annotations

from pathlib import Path

from portal.server.kernel_jobs.slurm import JobRequest, sbatch_argv
from spawner.slurm.jobs import NAME_PREFIX
from spawner.slurm.resources import Resources


def test_a_job_names_its_session_and_is_none_itself() -> None:
    argv = sbatch_argv(
        JobRequest(
            session_job_id="77",
            resources=Resources(n_gpus=2, n_cores=16, memory_mib=98_304),
            gpu_type="v100",
            walltime_s=3600,
            folder=Path("/home/ada/f"),
            command=("python",),
            partition="gpu",
        )
    )

    assert "--job-name=kernel-of-77" in argv
    assert not "kernel-of-77".startswith(NAME_PREFIX)
    assert {"--gpus-per-node=v100:2", "--cpus-per-task=16", "--mem=98304M"} <= {*argv}
    assert {"--partition=gpu", "--output=/home/ada/f/job.log", "--no-requeue"} <= {*argv}
    assert not [word for word in argv if word.startswith(("--account", "--qos"))]
