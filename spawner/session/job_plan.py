"""Builds the plan of a session's job from its request and the operator's settings."""

from spawner.options.option_table import plain_options
from spawner.options.request import SessionRequest
from spawner.options.traits import SpawnerTraits
from spawner.slurm.gres import SHARD
from spawner.slurm.job_script import JobPlan, parse_extra_options


def make_plan(
    spawner: SpawnerTraits, request: SessionRequest, *, job_name: str, comment: str
) -> JobPlan:
    """Return the plan of a session's job; a forecast asks with the same.

    Args:
        spawner: Holds the operator's settings, batchspawner's `req_*` among them.
        job_name: Name of the job, which holds the session's id.
        comment: Comment of the job, which names the hub.
    """
    options = request.options
    return JobPlan(
        job_name=job_name,
        comment=comment,
        resources=request.resources,
        walltime_s=request.walltime_s,
        server_argv=(*spawner.server_argv, *spawner.get_args()),
        gpu_type=None if options.gpu_type == SHARD else options.gpu_type,
        # To Slurm shards are a resource of their own, not a type of GPU.
        gres=SHARD if options.gpu_type == SHARD else "gpu",
        partition=request.partition,
        names=tuple(
            (option.flag, name)
            for key, option in plain_options()
            if option.flag and (name := options.name(key) or getattr(spawner, f"req_{key}", ""))
        ),
        # A warning at the very start would warn of nothing.
        warning_s=spawner.slurm_warning_s if spawner.slurm_warning_s < request.walltime_s else 0,
        prologue=spawner.req_prologue,
        epilogue=spawner.req_epilogue,
        extra_options=parse_extra_options(spawner.req_options),
        is_rescue=options.is_rescue,
    )
