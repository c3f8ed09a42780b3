"""How a session gets its job: it is submitted, or found if its id was never saved."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from jupyterhub.utils import AnyTimeoutError, exponential_backoff
from sqlalchemy.exc import SQLAlchemyError

from dsportal.slurm.errors import PortalError
from spawner.client.preflight import Preflight
from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.session.cluster import Cluster
from spawner.session.log_adapter import SessionLogAdapter
from spawner.session.progress import Progress
from spawner.session.session import Session
from spawner.slurm.job_script import Job

# By then the launcher of a hub that died has ended.
_FIND_TIMEOUT_S = 30.0


class Submission:
    """The submission of one session's job."""

    def __init__(
        self,
        cluster: Cluster,
        session: Callable[[], Session],
        take_job_id: Callable[[int], None],
        progress: Progress,
        log: SessionLogAdapter,
    ) -> None:
        self._cluster = cluster
        self._session = session
        self._take_job_id = take_job_id
        self._progress = progress
        self._log = log
        self._task: asyncio.Task[None] | None = None

    async def submit(
        self, job: Job, environment: Mapping[str, str], preflight: Preflight | None = None
    ) -> None:
        """Submit the job. If the caller is cancelled meanwhile, `settle` still finds the job.

        Args:
            preflight: Checks that run first, as the user; None for none.

        Raises:
            PreflightError: If the site refuses sessions for what the preflight found.
            JobRejectedError: If sbatch refused the job.
            SlurmUnavailableError: If Slurm did not answer.
        """
        self._task = asyncio.ensure_future(self._submit(job, environment, preflight))
        # Cancelling the caller must not lose the job that is being submitted.
        await asyncio.shield(self._task)

    async def find(self) -> bool:
        """Return whether there is a job; search for it, for 30 s, if its id was never saved."""
        if not self._session().job_id:
            with contextlib.suppress(AnyTimeoutError):
                await exponential_backoff(
                    self._find_once, "", start_wait=0.5, max_wait=3.0, timeout=_FIND_TIMEOUT_S
                )
        return bool(self._session().job_id)

    async def settle(self) -> bool:
        """Wait for a submission that is on its way; return whether there is a job."""
        if self._task is not None:
            with contextlib.suppress(PortalError, SQLAlchemyError):
                # sbatch may be about to accept the job, whose id is needed to cancel it.
                await asyncio.shield(self._task)
        if not self._session().job_id:
            with contextlib.suppress(SQLAlchemyError):
                await self._find_once()
        return bool(self._session().job_id)

    async def _submit(
        self, job: Job, environment: Mapping[str, str], preflight: Preflight | None
    ) -> None:
        slurm, user = self._cluster.slurm, self._session().user
        try:
            submission = await slurm.submit(user, job, environment, preflight=preflight)
        except SlurmUnavailableError:
            # sbatch may have submitted the job although its answer was lost.
            if not await self._find_once():
                raise
            return
        for warning in submission.warnings:
            self._log.warning("Before the start of %s: %s", user, warning)
            self._progress.add_step("submitted", 5, warning)
        self._take_job_id(submission.job_id)

    async def _find_once(self) -> bool:
        with contextlib.suppress(SlurmError):
            session = self._session()
            for record in await self._cluster.slurm.find_jobs(name=session.job_name):
                # Another user may have given a job this name. Without the name service each user
                # is "nobody", who can have no job.
                is_own = record.key.user in {session.user, "nobody"}
                if is_own and record.key.name == session.job_name:
                    self._take_job_id(record.key.job_id)
                    return True
        return False
