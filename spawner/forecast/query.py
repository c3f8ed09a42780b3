"""What a forecast asks of Slurm: the job of a session that is not submitted."""

from __future__ import annotations

from typing import Any

from spawner.forecast.forecaster import Question
from spawner.options.accounting_limits import Allowance
from spawner.options.request import Request
from spawner.slurm.gres import SHARD
from spawner.slurm.job_script import Job, JobPlan, build_job
from spawner.slurm.resources import Resources

_JOB_NAME = "dsportal-forecast"


def question_of(spawner: Any, request: Request) -> Question:
    """Return the forecast question for a checked request.

    Args:
        spawner: A `SlurmGPUSpawner`: its user, and the operator's settings with batchspawner's
            `req_*`.
        request: What the user could ask for, checked.
    """
    options, resources = request.options, request.resources
    # Users of one account share answers, also those who do not name it.
    own = Allowance(spawner.user.name, spawner.cluster.associations)
    return Question(
        user=spawner.user.name,
        n_gpus=resources.n_gpus,
        n_cores=resources.n_cores,
        memory_mib=resources.memory_mib,
        walltime_s=request.walltime_s,
        gpu_type=options.gpu_type,
        partition=request.partition,
        account=options.account or spawner.req_account or own.default_account,
        qos=options.qos or spawner.req_qos or None,
        reservation=options.reservation or spawner.req_reservation or None,
    )


def job_of(question: Question, extra_options: tuple[str, ...] = ()) -> Job:
    """Return the job for sbatch --test-only: the session's, with a script that does nothing."""
    is_shard = question.gpu_type == SHARD
    return build_job(
        JobPlan(
            job_name=_JOB_NAME,
            comment="",
            resources=Resources(
                n_gpus=question.n_gpus,
                n_cores=question.n_cores,
                memory_mib=question.memory_mib,
            ),
            walltime_s=question.walltime_s,
            server_argv=("true",),
            gpu_type=None if is_shard else question.gpu_type,
            gres=SHARD if is_shard else "gpu",
            partition=question.partition,
            account=question.account,
            qos=question.qos,
            reservation=question.reservation,
            extra_options=extra_options,
        )
    )
