"""What Slurm is asked for a forecast: a session that is not submitted."""

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
    """Return the question whether and when a session would start.

    Args:
        spawner: Holds the user and the operator's settings, batchspawner's `req_*` among them.
        request: What the user could ask for, checked.

    Returns:
        The question.
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
    """Return the job that sbatch --test-only is given.

    Args:
        question: What is asked.
        extra_options: Further options of sbatch, of the site.

    Returns:
        A job like that of the session, with a script that does nothing.
    """
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
