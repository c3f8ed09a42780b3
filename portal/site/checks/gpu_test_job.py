"""Short jobs that look at a partition's GPUs, as a user, started the way sessions are."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from dsportal.slurm.states import Phase
from portal.hub.settings.loader import Settings
from portal.site.checks import allreduce, framework_probe, gpu_probe, rank_starter
from portal.site.checks.gpu_request import GpuRequest, build_gpu_job
from portal.site.checks.nvidia import NVIDIA_SMI_ARGV
from portal.site.checks.test_job import (
    CheckJobResult,
    check_job_environment,
    new_name,
    parse_found,
    program_script,
    program_source,
    wait_while,
)
from spawner.client.slurm import Slurm
from spawner.slurm.job_script import Job
from spawner.slurm.jobs import JobKey

RANKS_S = 60.0
# The longest that the program on the node looks, and a minute for Slurm to start and to end it.
LOOK_S = gpu_probe.LOOK_S + gpu_probe.ALLREDUCE_S + gpu_probe.NVIDIA_SMI_S + 60.0
_MIB = 1024 * 1024
# Long messages show the bandwidth of a link; cores only have to show that it works.
_SIZES = {
    "nccl": {"n_bytes": 256 * _MIB, "n_times": 20},
    "gloo": {"n_bytes": 8 * _MIB, "n_times": 5},
}


def gpu_probe_input(settings: Settings) -> dict[str, Any]:
    """Return the JSON object that `gpu_probe` reads."""
    return {
        "server": str(settings.environments.server),
        "root": "/",
        "is_simulated": settings.site.simulated_gpus,
        "nvidia_smi": list(NVIDIA_SMI_ARGV),
        "programs": {
            "frameworks": program_source(framework_probe),
            "ranks": program_source(rank_starter),
        },
        "ranks": {backend: rank_starter_input(settings, backend) for backend in _SIZES},
    }


def rank_starter_input(settings: Settings, backend: str) -> dict[str, Any]:
    """Return the JSON object that `rank_starter` reads, wherever the ranks are.

    `backend` is "nccl" or "gloo". "kernel", "n_local" and "meeting_place" have to be added.
    """
    return {
        "server": str(settings.environments.server),
        "program": program_source(allreduce),
        "backend": backend,
        "rank": 0,
        "n_ranks": gpu_probe.N_RANKS,
        "peer": "",
        "timeout_s": RANKS_S,
        **_SIZES[backend],
    }


async def run_gpu_test_job(
    slurm: Slurm, settings: Settings, request: GpuRequest, *, user: str, wait_s: float
) -> CheckJobResult:
    """Run a job that looks at the GPUs of one node.

    It may wait in the queue for `wait_s`. It is not left behind, whatever happens.

    Raises:
        JobRejectedError: If Slurm refused it.
        SlurmError: If Slurm did not answer, or the launcher could not be run.
    """
    job = build_gpu_job(
        settings, request, name=new_name(), script=program_script(gpu_probe), walltime_s=LOOK_S
    )
    key = await submit(slurm, job, user, check_job_environment(settings, gpu_probe_input(settings)))
    try:
        return await follow(slurm, key, wait_s=wait_s, look_s=LOOK_S)
    finally:
        await end(slurm, key)


async def submit(slurm: Slurm, job: Job, user: str, environment: Mapping[str, str]) -> JobKey:
    """Submit a job, whose options must name it.

    Raises:
        JobRejectedError: If Slurm refused it.
        SlurmError: If Slurm did not answer, or the launcher could not be run.
    """
    submission = await slurm.submit(user, job, environment)
    option = "--job-name="
    (name,) = (word for word in job.argv if word.startswith(option))
    return JobKey(job_id=submission.job_id, user=user, name=name.removeprefix(option))


async def follow(slurm: Slurm, key: JobKey, *, wait_s: float, look_s: float) -> CheckJobResult:
    """Wait for a job to end, and read what it found.

    It may wait in the queue for `wait_s`, and then run for `look_s`.

    Raises:
        SlurmError: If Slurm did not answer, or the launcher could not be run.
    """
    record = await wait_while(slurm, key, {Phase.WAITING}, wait_s)
    if record is not None and record.state.phase is Phase.WAITING:
        return CheckJobResult(key=key, record=record)
    # Slurm may have forgotten the job by then; the earlier record still names its node.
    record = await wait_while(slurm, key, {Phase.WAITING, Phase.RUNNING}, look_s) or record
    log = await slurm.read_log(key)
    return CheckJobResult(key=key, record=record, found=parse_found(log), log=log)


async def end(slurm: Slurm, key: JobKey) -> None:
    """Cancel a check's job, whether it still runs or not."""
    # If this fails, the job ends at its time limit.
    with contextlib.suppress(Exception):
        await slurm.cancel(key)
