"""The numbers behind a limit on GPUs: how many the user holds, and how many the limit allows."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace

from dsportal.diagnosis import Situation, explain_rejection
from dsportal.diagnosis.limit import Limit, find_limit
from dsportal.slurm.states import Phase
from spawner.errors import JobRejectedError, SlurmError
from spawner.session.cluster import Cluster
from spawner.session.end_reason import describe_situation
from spawner.session.session import Session
from spawner.slurm.associations import Associations
from spawner.slurm.jobs import JobRecord
from spawner.slurm.squeue import GpusInUse

# Longer than a query to Slurm may take; a sentence without numbers is better than none.
_LONGEST_WAIT_S = 10.0


async def situation_of_wait(
    cluster: Cluster, session: Session, record: JobRecord | None
) -> Situation:
    """Return what the portal knows of a session whose job waits, with the numbers of its limit."""
    if record is None or record.state.phase is not Phase.WAITING:
        return describe_situation(session)
    return await _situation(cluster, session, record.reason)


async def explain_refusal(
    cluster: Cluster, session: Session, error: JobRejectedError
) -> JobRejectedError:
    """Return the error of a refused session with the numbers of the limit that refused it."""
    situation = await _situation(cluster, session, error.stderr)
    return JobRejectedError(
        str(explain_rejection(error.stderr, situation)),
        argv=error.argv,
        exit_code=error.exit_code,
        stderr=error.stderr,
    )


def with_numbers(
    situation: Situation,
    limit: Limit,
    session: Session,
    associations: Associations,
    in_use: Sequence[GpusInUse],
) -> Situation:
    """Return `situation` with the GPUs of `limit`, if they explain why the session does not start.

    Several limits of one kind can hold, such as those of the job's and of the partition's QOS.
    Slurm does not say which one it means, so numbers that leave room for the session are not shown.
    """
    rows = associations.matching(
        session.user, account=session.account or None, partition=session.partition or None
    )
    # Slurm does not say which one it charges.
    if len(rows) != 1:
        return situation
    (row,) = rows
    qos = session.qos or row.first_qos
    limits = associations.qos_gpu_limits.get(qos) if limit.is_of_qos else row.gpu_limits
    n_most = (
        {"job": limits.per_job, "user": limits.per_user, "group": limits.group}.get(limit.per)
        if limits
        else None
    )
    if n_most is None:
        return situation
    if limit.is_of_qos:
        jobs = [job for job in in_use if job.qos == qos]
    else:
        jobs = [job for job in in_use if job.account == row.account]
    # Of group limits accounting shows those of the user's own association, not of its parents.
    is_own = limit.per == "user" or not limit.is_of_qos
    n_held = sum(job.n_gpus for job in jobs if not is_own or job.user == session.user)
    # By these numbers the session could start, so it must be another limit.
    if (0 if limit.per == "job" else n_held) + session.n_gpus <= n_most:
        return situation
    return replace(
        situation,
        n_gpus_limit=n_most,
        n_gpus_held=n_held if is_own else None,
        is_own_limit=is_own,
    )


async def _situation(cluster: Cluster, session: Session, text: str) -> Situation:
    situation = describe_situation(session)
    catalog = cluster.catalog.latest()
    partition = session.partition or None
    if catalog is not None and partition in catalog.partitions:
        max_walltime_s = catalog.max_walltime_s(partition)
        situation = replace(situation, partition=partition, max_walltime_s=max_walltime_s)
    limit = find_limit(text)
    if limit is None or limit.resource != "gres" or limit.minutes:
        return situation
    with contextlib.suppress(SlurmError, TimeoutError):
        # The other sessions that ask wait for the same answer.
        in_use = await asyncio.wait_for(cluster.gpus_in_use.get(), _LONGEST_WAIT_S)
        return with_numbers(situation, limit, session, cluster.associations, in_use)
    return situation
