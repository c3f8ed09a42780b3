"""What a forecast asks of Slurm: the plan of a session, with a script that does nothing."""

from dataclasses import dataclass, replace

from spawner.options.offer import Offer
from spawner.slurm.job_script import JobPlan

JOB_NAME = "dsportal-forecast"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastQuery:
    """A session to forecast. Users of one account share an answer, unless it is a refusal.

    Attributes:
        user: Who would own the job.
        plan: The job as it would be submitted, without its script.
        account: Slurm account of the job, the user's default one if the plan names none; None if
            it is not known.
    """

    user: str
    plan: JobPlan
    account: str | None = None


def forecast_query(plan: JobPlan, offer: Offer) -> ForecastQuery:
    """Return the forecast question for the plan of a user's session."""
    # What the scheduler does not look at would keep users from sharing an answer.
    scheduled = replace(
        plan, job_name=JOB_NAME, server_argv=("true",), prologue="", epilogue="", is_rescue=False
    )
    # Users of one account share answers, also those who do not name it.
    account = offer.account(dict(plan.names).get("account"))
    return ForecastQuery(user=offer.user, plan=scheduled, account=account)
