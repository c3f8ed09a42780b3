"""An all-reduce between two nodes: one rank on each, in its own job."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from portal.hub.settings.loader import Settings
from portal.site.checks import rank_starter
from portal.site.checks.gpu_answers import AllReduce
from portal.site.checks.gpu_request import GpuRequest, build_gpu_job
from portal.site.checks.gpu_test_job import RANKS_S, end, follow, rank_starter_input, submit
from portal.site.checks.test_job import (
    CheckJobResult,
    check_job_environment,
    new_name,
    program_script,
)
from spawner.client.slurm import Slurm
from spawner.slurm.job_script import Job
from spawner.slurm.jobs import JobKey
from spawner.slurm.nodes import Node

# A minute for Slurm to start and to end a job.
SLURM_S = 60.0
# Which ports a node has free is not known here; one that is not is found out within seconds.
N_PORTS = 3
_PORT_IN_USE = "EADDRINUSE"
GRACE_S = rank_starter.GRACE_S + SLURM_S


async def run_pair(
    slurm: Slurm,
    settings: Settings,
    request: GpuRequest,
    here: AllReduce,
    *,
    user: str,
    wait_s: float,
) -> list[CheckJobResult]:
    """Run an all-reduce with one rank on each of two nodes.

    `here`, the result on a single node, names the kernel and the backend. Each job may wait in the
    queue for `wait_s`. No job is left behind, whatever happens.

    Returns:
        The trial of each job, rank 0 first; only the one that failed or did not start, if one did.

    Raises:
        JobRejectedError: If Slurm refused one.
        SlurmError: If Slurm did not answer, or the launcher could not be run.
    """
    trials: list[CheckJobResult] = []
    for _ in range(N_PORTS):
        trials = await _run_once(slurm, settings, request, here, user=user, wait_s=wait_s)
        if not any(_PORT_IN_USE in str((one.found or {}).get("failed")) for one in trials):
            break
    return trials


async def _run_once(
    slurm: Slurm,
    settings: Settings,
    request: GpuRequest,
    here: AllReduce,
    *,
    user: str,
    wait_s: float,
) -> list[CheckJobResult]:
    # The first to start waits for the other as long as that may wait in the queue.
    timeout_s = wait_s + RANKS_S
    ports = range(settings.resources.port_min, settings.resources.port_max + 1)
    # From the sessions' range: the ports that a site opens on its nodes.
    meeting_place = f"tcp://{request.nodes[0].address}:{secrets.choice(ports)}"
    common = rank_starter_input(settings, here.backend) | {
        "kernel": here.kernel,
        "n_local": 1,
        "meeting_place": meeting_place,
        "timeout_s": timeout_s,
    }
    keys: list[JobKey] = []
    try:
        for rank, (node, peer) in enumerate((request.nodes, request.nodes[::-1])):
            asked: dict[str, Any] = {**common, "rank": rank, "peer": peer.address}
            job = _build_rank(settings, request, node, walltime_s=timeout_s + GRACE_S)
            # Kept one by one: if the second is refused, the first still has to be cancelled.
            keys.append(await submit(slurm, job, user, check_job_environment(settings, asked)))
        return await _follow_both(slurm, keys, wait_s=wait_s, look_s=timeout_s + GRACE_S)
    finally:
        for key in keys:
            await end(slurm, key)


def _build_rank(settings: Settings, request: GpuRequest, node: Node, *, walltime_s: float) -> Job:
    # One GPU a node is enough to try the network between them.
    one = GpuRequest(partition=request.partition, gpu_type=request.gpu_type, n_gpus=1)
    return build_gpu_job(
        settings,
        one,
        name=new_name(),
        script=program_script(rank_starter),
        walltime_s=walltime_s,
        node=node.name,
    )


async def _follow_both(
    slurm: Slurm, keys: list[JobKey], *, wait_s: float, look_s: float
) -> list[CheckJobResult]:
    following = [
        asyncio.ensure_future(follow(slurm, key, wait_s=wait_s, look_s=look_s)) for key in keys
    ]
    try:
        for ended in asyncio.as_completed(following):
            trial = await ended
            if not trial.found or trial.found.get("failed"):
                # The other waits for it in vain.
                return [trial]
        return [one.result() for one in following]
    finally:
        for one in following:
            one.cancel()
