"""Time limits of running jobs: read them, see who waits, and extend them."""

from collections.abc import Sequence
from dataclasses import replace

from dsportal.slurm.listing import NO_SUCH_JOB, new_nonce
from spawner.client.command import FIRST_CLUSTER, PATH, ClusterAddress, Completed, query
from spawner.client.launcher_client import LauncherClient
from spawner.errors import ExtensionError, SlurmError
from spawner.settings.slurm import SlurmSettings
from spawner.slurm.jobs import JobKey, WaitingJob
from spawner.slurm.squeue import LIMITS, REASONS, RunningJob, parse_running_jobs, parse_waiting

_TIMEOUT_S = SlurmSettings().timeout_s
_NOT_SET_UP = (
    "Extensions are not set up on the head node: sudo does not allow the hub to run "
    "dsportal-extender "
    "as Slurm's account. Tell the administrators. Meanwhile save your work."
)


class TimeLimits:
    """Reads and extends time limits, on behalf of the hub.

    Args:
        extender_argv: The program that extends a limit, as the sudoers file names it.
        sudo_argv: sudo and its options, up to the account's name.
        slurm_user: Slurm's own account, SlurmUser in slurm.conf.
    """

    def __init__(
        self,
        *,
        extender_argv: Sequence[str],
        sudo_argv: Sequence[str],
        slurm_user: str,
        address: ClusterAddress = FIRST_CLUSTER,
        timeout_s: float = _TIMEOUT_S,
        path: str = PATH,
    ) -> None:
        self._extender = LauncherClient(
            launcher_argv=extender_argv, sudo_argv=sudo_argv, path=path, cluster=address.name
        )
        self._slurm_conf = address.slurm_conf
        self._slurm_user = slurm_user
        self._timeout_s = timeout_s
        self._path = path

    async def read_job(self, key: JobKey) -> RunningJob | None:
        """Return a job as squeue shows it now; None if it does not run."""
        nonce = new_nonce()
        argv = ("squeue", "--all", f"--jobs={key.job_id}", *LIMITS.options(nonce))
        try:
            done = await self._query(argv)
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
        done = await self._query(("squeue", *chosen, *REASONS.options(nonce)))
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

    async def _query(self, argv: Sequence[str]) -> Completed:
        return await query(
            argv, timeout_s=self._timeout_s, path=self._path, slurm_conf=self._slurm_conf
        )
