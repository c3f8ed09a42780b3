"""Extends a running session, from its user's request to Slurm's answer."""

import time
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from spawner.client.time_limit import TimeLimits
from spawner.errors import ExtensionError
from spawner.hub.cluster_offer import BUDGETS_WAIT_S
from spawner.hub.session_mixin import SessionMixin
from spawner.options.budget_messages import ChargedBudgets
from spawner.options.request import resources_per_gpu
from spawner.options.traits import SiteTraits
from spawner.session.extension_policy import (
    ExtensionPolicy,
    WalltimeLimit,
    check_queue,
    check_times,
    decide_limit,
)
from spawner.session.session import job_comment
from spawner.settings.extension import ExtensionSettings
from spawner.settings.traits import read_traits
from spawner.slurm.squeue import RunningJob

_NOT_RUNNING = (
    "The session cannot be extended because its job is no longer running. Start a new session."
)

# It ran when its limit was read, a moment before.
_NOT_FOUND = (
    "The session was not extended: Slurm did not find its job a second time. Try again. If it "
    "happens again, save your work and tell the administrators."
)


def make_policy(traits: SiteTraits) -> ExtensionPolicy:
    """Return the site's extension policy from the operator's settings."""
    extension = read_traits(traits, ExtensionSettings)
    return ExtensionPolicy(
        step_s=extension.step_s,
        most_s=extension.most_s,
        most_times=extension.most_times,
        is_allowed_while_others_wait=extension.while_others_wait,
    )


def describe_time(spawner: SessionMixin) -> dict[str, Any]:
    """Return what the hub tells a session's server about its time.

    Returns:
        "left_s", and "extension" with "step_s" and "n_left", both 0 if it cannot be extended.
    """
    session = spawner.session
    n_done = session.n_extensions if session is not None else 0
    policy = make_policy(spawner)
    n_left = max(0, policy.most_times - n_done) if policy.step_s else 0
    return {
        "left_s": spawner.left_s,
        "extension": {"step_s": policy.step_s if n_left else 0, "n_left": n_left},
    }


async def extend_session(spawner: SessionMixin) -> None:
    """Extend a running session by one step."""
    # Two requests at once would both count from the same old limit.
    async with spawner.extension_lock:
        limits = TimeLimits(
            spawner.cluster.slurm,
            extender_argv=spawner.extender_argv,
            slurm_user=spawner.slurm_user,
        )
        policy = make_policy(spawner)
        read_at = time.monotonic()
        job, n_extensions = await _read_job(spawner, limits, policy)
        new_limit_s = decide_limit(
            policy,
            limit_s=job.limit_s or 0,
            n_extensions=n_extensions,
            ceilings=(
                await _partition_ceiling(spawner, job.partition),
                await _accounting_ceiling(spawner, job),
                await _budget_ceiling(spawner, job),
            ),
        )
        waiting = await limits.list_waiting(job.partition)
        check_queue(policy, user=job.key.user, partition=job.partition, waiting=waiting)
        if not await limits.set_time_limit(job, new_limit_s):
            raise ExtensionError(_NOT_FOUND)
        spawner.change_session(walltime_s=new_limit_s, n_extensions=n_extensions + 1)
        # Set at once: a query to Slurm that is under way may still return the old end.
        gained_s = new_limit_s - (job.limit_s or 0)
        # What Slurm said held when the job was read; the queries since then took time.
        passed_s = time.monotonic() - read_at
        spawner.set_end(
            left_s=round(job.left_s + gained_s - passed_s),
            ends_at=_later(job.ends_at, gained_s),
        )


def _later(moment: str, seconds: int) -> str:
    try:
        later = datetime.fromisoformat(moment) + timedelta(seconds=seconds)
    except ValueError:
        return ""
    return later.isoformat(timespec="seconds")


async def _read_job(
    spawner: SessionMixin, limits: TimeLimits, policy: ExtensionPolicy
) -> tuple[RunningJob, int]:
    session = spawner.session
    if session is None or not session.job_id:
        raise ExtensionError(_NOT_RUNNING)
    # Before Slurm is queried for a request that the site refuses anyway.
    check_times(policy, n_extensions=session.n_extensions)
    job = await limits.read_job(session.key)
    # A job id that Slurm has reused, or a job whose user changed its comment, is not touched.
    if job is None or job.comment != job_comment(spawner.cluster.hub):
        raise ExtensionError(_NOT_RUNNING)
    if job.limit_s is None:
        raise ExtensionError("The session has no time limit, so there is nothing to extend.")
    return job, session.n_extensions


async def _partition_ceiling(spawner: SessionMixin, name: str) -> WalltimeLimit:
    partition = (await spawner.cluster.catalog.get()).partitions.get(name)
    if partition is None:
        raise ExtensionError(
            f"The partition {name} of the session no longer exists in Slurm. Save your work and "
            "start a new session."
        )
    return WalltimeLimit(what=f"The partition {name}", most_s=partition.max_walltime_s)


async def _accounting_ceiling(spawner: SessionMixin, job: RunningJob) -> WalltimeLimit:
    # Not the cached associations: an extension is refused if its limits are not known.
    associations = await spawner.cluster.slurm.accounting.read_associations()
    ceiling = associations.ceiling(
        job.key.user,
        account=job.account or None,
        partition=job.partition,
        qos=job.qos or None,
    )
    what = f"{ceiling.of[:1].upper()}{ceiling.of[1:]}"
    return WalltimeLimit(what=what, most_s=ceiling.max_walltime_s)


async def _budget_ceiling(spawner: SessionMixin, job: RunningJob) -> WalltimeLimit:
    session = spawner.session
    if session is None:
        return WalltimeLimit(what="", most_s=None)
    # Without an answer the last one counts, or none.
    await spawner.cluster.read_budgets_again(BUDGETS_WAIT_S)
    charged = ChargedBudgets.of_job(
        spawner.cluster.budgets,
        user=job.key.user,
        account=job.account,
        partition=job.partition,
        qos=job.qos,
    )
    shape = resources_per_gpu(
        spawner.on(session.cluster).traits,
        await spawner.cluster.catalog.get(),
        n_gpus=session.n_gpus,
        partition=session.partition or None,
        gpu_type=session.gpu_type,
    )
    held = replace(shape.resources(session.n_gpus), memory_mib=session.memory_mib)
    what, most_s = charged.longest(held, session.gpu_type, job.limit_s or 0) or ("", None)
    return WalltimeLimit(what=what, most_s=most_s)
