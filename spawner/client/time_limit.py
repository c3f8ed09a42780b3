"""Time limits of running jobs: read them, see who waits, and extend them."""

from collections.abc import Sequence
from dataclasses import replace

from dsportal.slurm.listing import NO_SUCH_JOB, new_nonce
from spawner.client.slurm import Slurm
from spawner.errors import ExtensionError, SlurmError
from spawner.slurm.jobs import JobKey, WaitingJob
from spawner.slurm.squeue import LIMITS, REASONS, RunningJob, parse_running_jobs, parse_waiting

_NOT_SET_UP = (
    "Extensions are not set up on the head node: sudo does not allow the hub to run "
    "dsportal-extender "
    "as Slurm's account. Tell the administrators. Meanwhile save your work."
)


class TimeLimits:
    """Reads and extends time limits, on behalf of the hub.

    Args:
        extender_argv: The program that extends a limit, as the sudoers file names it.
        slurm_user: Slurm's own account, SlurmUser in slurm.conf.
    """

    def __init__(self, slurm: Slurm, *, extender_argv: Sequence[str], slurm_user: str) -> None:
        self._ask = slurm.ask
        self._extender = replace(slurm.launcher, launcher_argv=extender_argv)
        self._slurm_user = slurm_user

    async def read_job(self, key: JobKey) -> RunningJob | None:
        """Return a job as squeue shows it now; None if it does not run."""
        nonce = new_nonce()
        argv = ("squeue", "--all", f"--jobs={key.job_id}", *LIMITS.options(nonce))
        try:
            done = await self._ask(argv)
        except SlurmError as error:
            if NO_SUCH_JOB not in error.stderr:
                raise
            return None
        jobs = parse_running_jobs(done.stdout, nonce)
        # With the user's name as the hub knows it: squeue may not know it at the moment.
        return next((replace(job, key=key) for job in jobs if job.key == key), None)

    async def list_waiting(self, partition: str) -> tuple[WaitingJob, ...]:
        """Return user and reason of each pending job of a partition."""
        nonce = new_nonce()
        chosen = ("--all", "--states=PENDING", f"--partition={partition}")
        done = await self._ask(("squeue", *chosen, *REASONS.options(nonce)))
        return parse_waiting(done.stdout, nonce)

    async def set_time_limit(self, job: RunningJob, limit_s: int) -> bool:
        """Give a job a longer time limit, as Slurm's own account.

        Args:
            job: Nothing is done if its id belongs to another job by now.
            limit_s: New limit in seconds from the job's start, whole minutes.

        Returns:
            Whether the job was found.
        """
        order = {
            "verb": "extend",
            "job_id": job.key.job_id,
            # The extender may change any job, so it compares all of these with the job itself.
            "user_id": job.user_id,
            "job_name": job.key.name,
            "comment": job.comment,
            # scontrol counts a TimeLimit in minutes.
            "minutes": limit_s // 60,
        }
        try:
            answer = await self._extender.order(self._slurm_user, order)
        except SlurmError as error:
            # A refusal comes from sudo itself, which prints its own text instead of JSON.
            if "sudo" in error.stderr:
                raise ExtensionError(_NOT_SET_UP) from error
            raise
        return bool(answer["found"])
