"""The spawner: JupyterHub's interface to a session that is a Slurm job."""

import asyncio
from functools import partial
from typing import Any

from jupyterhub.spawner import Spawner

from dsportal.slurm.errors import PortalError
from spawner import unwritable_database
from spawner.errors import JobRejectedError, SlurmError
from spawner.hub import port_api, session_api, unreachable
from spawner.hub.patches import base_handler, user
from spawner.hub.patches.application import before_sessions
from spawner.hub.patches.routes import add_api_routes
from spawner.hub.session_mixin import SessionMixin
from spawner.hub.unused_traits import warn_of_unused
from spawner.metrics import SESSION_STARTS
from spawner.options.request import describe_gpus
from spawner.session.limit_numbers import explain_refusal
from spawner.session.progress import Progress
from spawner.session.queue_status import keep_status_current
from spawner.session.readiness import proven, wait_for_answer
from spawner.session.restore import keep, resume_start
from spawner.session.session import Session
from spawner.session.session_end import JobEndedError, SessionEnd
from spawner.session.session_job import SessionJob
from spawner.session.spawn_error import RESCUE_PAGE, StartFailedError
from spawner.session.start_line import describe_place
from spawner.session.start_metrics import counted_start, expect_start
from spawner.slurm.job_script import build_job

# At import, which comes before the hub builds its routes.
port_api.register()
add_api_routes(session_api.ROUTES)
unreachable.register()
unwritable_database.register()
base_handler.register()
user.register()
before_sessions(warn_of_unused)


class SlurmGPUSpawner(SessionMixin):
    """Starts a notebook server as a Slurm job of the user, on one node, with its GPUs.

    batchspawner's settings `req_partition`, `req_account`, `req_qos`, `req_reservation`,
    `req_prologue`, `req_epilogue` and `req_options` are the site's defaults. Its other settings are
    not used, and the hub says so in its log: the job is built by `spawner.slurm.job_script`.

    Attributes:
        ending: How the last session ended if its user did not stop it; None from the next
            start on.
        is_hidden: `server` is None although there is one, while a restarted hub continues a start.
        is_left_alone: The same during JupyterHub's check at start-up, for a session that was ready.
    """

    is_hidden = False
    is_left_alone = False
    ending: SessionEnd | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._progress = Progress(keep=self._keep_steps)
        self._notices: set[asyncio.Task[int | None]] = set()
        self.extension_lock = asyncio.Lock()
        super().__init__(*args, **kwargs)

    async def start(self) -> str:
        """Submit the job and wait until its server answers, however long the queue is.

        Returns:
            The server's URL.
        """
        self.port = 0
        self.ending = None
        request = self._request
        here = self.on(request.options.cluster)
        session = Session(
            user=self.user.name,
            cluster=here.cluster.name,
            n_gpus=request.resources.n_gpus,
            memory_mib=request.resources.memory_mib,
            walltime_s=request.walltime_s,
            token_id=self._rows.find_token_id(self.api_token),
            partition=request.partition or "",
            account=request.options.name("account") or self.req_account,
            qos=request.options.name("qos") or self.req_qos,
            has_tls=bool(self.certificates_dir),
            authority=self.authority,
            **here.find_alternatives(request.options),
        )
        await self._rows.wait_for_lock()
        # Saved first: a hub that dies while sbatch runs finds the job by its name.
        self._save(session)
        self._job = job = self._make_job(session)
        progress = self._progress
        try:
            async with self.cluster.start_line.turn(
                self.user.name, lambda *place: progress.stand_in_line(describe_place(*place))
            ):
                progress.stand_in_line("The job is being submitted.")
                # Before there is a job that the hub could not follow.
                await self.cluster.check_private_data()
                plan = here.make_plan(request, session.job_name)
                await expect_start(self.cluster, session, request, here.forecast_query(plan))
                await job.submit(build_job(plan), self.get_env(), here.traits.preflight)
        except PortalError as failure:
            error = failure
            if isinstance(failure, JobRejectedError):
                error = await explain_refusal(self.cluster, session, failure)
            SESSION_STARTS.labels("refused").inc()
            raise StartFailedError(
                error, rescue_url=f"{self.hub.base_url}{RESCUE_PAGE}"
            ) from failure
        return await self.resume()

    async def resume(self) -> str:
        """Wait until the session's server answers; a restarted hub continues a start here.

        Returns:
            The server's URL.
        """
        job = self._job
        if job is None or not await job.find():
            raise StartFailedError(
                JobEndedError(
                    "The portal was restarted before Slurm accepted the job. Start again."
                )
            )
        try:
            with counted_start(self.cluster, job):
                async with keep_status_current(
                    job, self.cluster, gpus=self._describe_gpus(job.session)
                ):
                    url = await job.wait_until_served(partial(wait_for_answer, self))
                    # JupyterHub saves it at once, and ends a session that it cannot save.
                    await self._rows.wait_for_lock()
                    return url
        finally:
            self.cluster.catalog.expire()
            job.progress.finish()

    async def poll(self) -> int | None:
        """Return whether the session has ended, as JupyterHub expects it.

        Returns:
            None while it has not, or while Slurm does not answer; 0 if there is no session; 1 if
            its job is over.
        """
        job = self._job
        if job is None:
            return 0
        if await job.is_alive(self.slurm_timeout_s):
            return None
        # A failed start reports its own reason, and a stop needs none.
        if job.session.is_ready and self.pending != "stop":
            ending = await job.read_session_end()
            # A new session may have started while the reason was read.
            if job is not self._job:
                return None
            self.ending = ending
        return 1

    async def stop(self, now: bool = False) -> None:
        """Cancel the job and wait until it is gone.

        Args:
            now: Not used; Slurm kills what does not end by itself.
        """
        if self._job is None:
            return
        try:
            await self._job.stop()
        except SlurmError as error:
            self.log.error(
                "Job %d of %s could not be cancelled; the search for orphans will do it: %s",
                self._job.session.job_id,
                self.user.name,
                error.stderr or error,
            )
            # Shown until the next start: the session is gone, its GPUs are not.
            self.ending = SessionEnd.of_uncancelled(self._job.session.job_id)
        if not self.api_token:
            # After a restart the hub no longer knows the server's token, only its row.
            self._rows.revoke_token(self._job.session.token_id)

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore the session in a saved state.

        Args:
            state: JSON values that `get_state` returned before the hub was restarted.
        """
        # Not batchspawner's, as in get_state and clear_state: the session keeps the job's state.
        Spawner.load_state(self, state)
        for cluster in self.all_clusters():
            cluster.begin()
        self.ending = SessionEnd.from_state(state)
        session = Session.from_state(state)
        # JupyterHub keeps the server's row only while the session starts or runs.
        if session is None or self.orm_spawner.server is None:
            return
        self._progress = Progress.from_state(state, keep=self._keep_steps)
        self._job = self._make_job(session)
        if session.is_ready:
            keep(self)
        else:
            resume_start(self)

    def get_state(self) -> dict[str, Any]:
        """Return the state for the database, as JSON values without secrets."""
        state: dict[str, Any] = Spawner.get_state(self)
        if self._job is None:
            return state | (self.ending.to_state() if self.ending else {})
        return state | self._job.session.to_state() | self._progress.to_state()

    def clear_state(self) -> None:
        """Forget the session, without touching its job."""
        Spawner.clear_state(self)
        self.job_id = ""
        if self._job is not None:
            self.cluster.forecasts.forget(self._job.session.session_id)
            self.cluster.allocations.forget(lambda user, _: user == self.user.name)
            self._job.close()
            self._job = None
        self._progress.finish()
        self._progress = Progress(keep=self._keep_steps)

    @property
    def ready(self) -> bool:
        """Whether its server may be used: there is one, and nothing is pending."""
        # JupyterHub asks all sessions at each start: not by way of `server`, which makes objects.
        if self.pending or self._hides_server:
            return False
        row = self.orm_spawner
        return (row.server if row else self._server) is not None

    @property
    def _hides_server(self) -> bool:
        return bool(self.is_hidden or (self.is_left_alone and self._check_pending))

    @property
    def server(self) -> Any:
        """JupyterHub's row of the server; None while a restarted hub must leave it alone."""
        server = None if self._hides_server else Spawner.server.fget(self)
        return server if server is None or not self.certificate else proven(server, self)

    @server.setter
    def server(self, server: Any) -> None:
        Spawner.server.fset(self, server)

    def _make_job(self, session: Session) -> SessionJob:
        self.job_id = str(session.job_id or "")
        return SessionJob(
            self.cluster_named(session.cluster),
            session,
            save=self._save,
            on_over=self._on_end,
            running_start_timeout_s=self.running_start_timeout_s,
            progress=self._progress,
            gpus=self._describe_gpus(session),
            read_secret=lambda: self.api_token,
            log=self.log,
        )

    def _keep_steps(self) -> None:
        if self._job is not None:
            self._save(self._job.session)

    def _describe_gpus(self, session: Session) -> str:
        return describe_gpus(session.n_gpus, are_simulated=self.simulated_gpus)

    def _on_end(self) -> None:
        self.cluster.catalog.expire()
        # JupyterHub itself would notice only at its next poll.
        if self._job is not None and self._job.session.is_ready and self._poll_callback:
            notice = asyncio.ensure_future(self.poll_and_notify())
            self._notices.add(notice)
            notice.add_done_callback(self._notices.discard)
