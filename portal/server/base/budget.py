"""What is left of the budget that further jobs of this session's user are charged to."""

import os
import pwd
from collections.abc import Mapping
from functools import partial

from spawner.client.budgets import read_budgets
from spawner.client.command import PATH, query
from spawner.options.budget_messages import ChargedBudgets

_TIMEOUT_S = 15.0


def job_name_of(environ: Mapping[str, str], variable: str) -> str:
    """Return a name that Slurm has told the session's job, such as SLURM_JOB_ACCOUNT."""
    text = environ.get(variable, "")
    return "" if text == "(null)" else text


async def read_charged(
    environ: Mapping[str, str], partition: str, *, path: str = PATH
) -> ChargedBudgets:
    """Return the budgets of a job with the session's account and QOS.

    Without an answer of Slurm they have a `problem` and refuse nothing.

    Args:
        partition: Empty for Slurm's default one.
        path: Where Slurm's commands are.
    """
    return ChargedBudgets.of_job(
        await read_budgets(partial(query, timeout_s=_TIMEOUT_S, path=path)),
        user=pwd.getpwuid(os.getuid()).pw_name,
        account=job_name_of(environ, "SLURM_JOB_ACCOUNT"),
        partition=partition,
        qos=job_name_of(environ, "SLURM_JOB_QOS"),
    )
