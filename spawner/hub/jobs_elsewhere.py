"""A user's jobs on the clusters that a session cannot ask, for want of their keys and networks."""

import asyncio
from typing import Any

from dsportal.slurm.errors import PortalError
from spawner.hub.cluster_offer import ClusterOffer
from spawner.hub.session_mixin import SessionMixin
from spawner.session.queue_status import slurm_time_s
from spawner.slurm.cluster_jobs import ClusterJob

# A list that is open asks every few seconds, and is not to wait for one that is slow.
_PATIENCE_S = 3.0
_MOST_JOBS = 100


async def list_elsewhere(spawner: SessionMixin) -> list[dict[str, Any]]:
    """Return for each cluster but the session's own what its user has in the queue there.

    Returns:
        "cluster", its title; "problem", why jobs are not known; "jobs"; and "n_more", how many
        others there are.
    """
    others = spawner.besides(spawner.cluster.name)
    return await asyncio.gather(*(_list_jobs(there, spawner.user.name) for there in others))


async def _list_jobs(there: ClusterOffer, user: str) -> dict[str, Any]:
    jobs, problem = None, ""
    # It also reads an error that comes after the patience.
    there.cluster.jobs.begin()
    try:
        # Not the latest answer, however old: what that has left out nobody would miss.
        async with asyncio.timeout(_PATIENCE_S):
            jobs = await there.cluster.jobs.get()
    except TimeoutError:
        problem = f"Slurm has not answered in {_PATIENCE_S:g} s."
    except PortalError as error:
        problem = error.message
    own = jobs.of(user, n_most=_MOST_JOBS) if jobs else ()
    return {
        "cluster": there.title,
        "problem": problem,
        "jobs": [_describe(job) for job in own],
        "n_more": jobs.count(user) - len(own) if jobs else 0,
    }


def _describe(job: ClusterJob) -> dict[str, Any]:
    return {
        "id": job.job_id,
        "name": job.name,
        "phase": job.phase.value,
        "partition": ",".join(job.partitions),
        "n_nodes": job.n_nodes,
        "n_gpus": job.n_gpus,
        # The node may be in another time zone.
        "starts_s": slurm_time_s(job.starts_at),
        "reason": job.reason,
    }
