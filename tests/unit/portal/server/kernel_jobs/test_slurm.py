"""The job of a kernel as sbatch is asked for it."""

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from dsportal.slurm.states import Phase
from portal.server.kernel_jobs.slurm import JobRequest, KernelSlurm, expected_start, sbatch_argv
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


async def looks(tmp_path: Path, *, squeue: str, sacct: str) -> list[Phase]:
    """Return what two looks at a job say, with these commands in place of Slurm's."""
    for name, script in (("squeue", squeue), ("sacct", sacct)):
        command = tmp_path / name
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o755)
    slurm = KernelSlurm(f"{tmp_path}:{os.environ['PATH']}")
    return [(await slurm.status(7, n_gpus=1)).phase for _ in range(2)]


MISSING = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
AWAY = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"


async def test_a_job_that_slurm_does_not_know_at_one_look_is_not_over(tmp_path: Path) -> None:
    for sacct in ("exit 1", "true"):
        assert await looks(tmp_path, squeue=MISSING, sacct=sacct) == [Phase.UNKNOWN, Phase.OVER]


async def test_a_slurm_that_does_not_answer_ends_no_job(tmp_path: Path) -> None:
    assert await looks(tmp_path, squeue=AWAY, sacct="exit 1") == [Phase.UNKNOWN] * 2
