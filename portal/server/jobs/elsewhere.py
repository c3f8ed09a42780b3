"""The user's jobs on other clusters, as the hub tells of them."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from dsportal.amounts import count
from dsportal.diagnosis import Situation, explain_waiting
from dsportal.diagnosis.messages import JOB, SESSION
from portal.server.jobs.job import SlurmJob
from spawner.slurm.jobs import NAME_PREFIX


def parse_elsewhere(told: Sequence[Mapping[str, Any]]) -> tuple[list[SlurmJob], str]:
    """Return the jobs, and in words which are missing, or "" if none are.

    Args:
        told: From `spawner.hub.jobs_elsewhere`.
    """
    jobs, words = [], []
    for there in told:
        if there["problem"]:
            words.append(f"Your jobs on {there['cluster']} are not known: {there['problem']}")
        if there["n_more"]:
            words.append(f"{there['cluster']} has {count(there['n_more'], 'more job')} of yours.")
        jobs += [_job(one, there["cluster"]) for one in there["jobs"]]
    return jobs, " ".join(words)


def _job(told: Mapping[str, Any], cluster: str) -> SlurmJob:
    is_waiting, starts_s = told["phase"] == "waiting", told["starts_s"]
    is_session = told["name"].startswith(NAME_PREFIX)
    situation = Situation(
        subject=SESSION if is_session else JOB,
        n_gpus=told["n_gpus"],
        partition=told["partition"],
    )
    starts_at = datetime.fromtimestamp(starts_s).astimezone().isoformat() if starts_s else ""
    return SlurmJob(
        # Its number may be that of a job here.
        id=f"{cluster}:{told['id']}",
        cluster=cluster,
        name=told["name"],
        state="PENDING" if is_waiting else "RUNNING",
        label="Waiting" if is_waiting else "Running",
        phase=told["phase"],
        is_over=False,
        is_session=is_session,
        partition=told["partition"],
        elapsed="",
        limit="",
        n_nodes=str(told["n_nodes"]),
        n_cores="",
        n_gpus=told["n_gpus"],
        gpu_type="",
        at_s=math.inf if is_waiting else starts_s,
        starts_at=starts_at if is_waiting else "",
        nodes="",
        actions=(),
        reason=str(explain_waiting(told["reason"], situation)) if is_waiting else "",
    )
