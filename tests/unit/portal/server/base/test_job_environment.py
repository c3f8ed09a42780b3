"""What a kernel or a terminal finds in its environment."""

from __future__ import annotations

import pytest

from portal.server.base.job_environment import prepare_environment


def test_what_describes_the_session_stays_and_what_shapes_the_next_job_goes() -> None:
    environ = {
        "SLURM_JOB_ID": "41",
        "SLURM_JOB_PARTITION": "gpu",
        "SLURM_CPUS_ON_NODE": "16",
        "SLURMD_NODENAME": "node02",
        "SLURM_GPUS_PER_NODE": "2",
        "SLURM_CPUS_PER_TASK": "16",
        "SLURM_MEM_PER_NODE": "98304",
        "SLURM_NTASKS": "1",
        "SRUN_CPUS_PER_TASK": "16",
        "SBATCH_PARTITION": "gpu",
        "HOME": "/home/ada",
    }

    prepare_environment(environ)

    assert environ == {
        "SLURM_JOB_ID": "41",
        "SLURM_JOB_PARTITION": "gpu",
        "SLURM_CPUS_ON_NODE": "16",
        "SLURMD_NODENAME": "node02",
        "PORTAL_SESSION_JOB_ID": "41",
        "PORTAL_SESSION_MEMORY_MIB": "98304",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "RAY_AUTH_MODE": "token",
        "HOME": "/home/ada",
    }


@pytest.mark.parametrize(
    ("memory", "expected"),
    [({"SLURM_MEM_PER_CPU": "1000", "SLURM_CPUS_ON_NODE": "4"}, "4000"), ({}, None)],
)
def test_the_memory_of_the_session_is_kept(memory: dict[str, str], expected: str | None) -> None:
    environ = dict(memory)
    prepare_environment(environ)

    assert environ.get("PORTAL_SESSION_MEMORY_MIB") == expected


def test_what_a_user_has_set_stays() -> None:
    chosen = {"TF_FORCE_GPU_ALLOW_GROWTH": "false", "RAY_AUTH_MODE": "disabled"}
    environ = dict(chosen)
    prepare_environment(environ)

    assert environ == chosen
