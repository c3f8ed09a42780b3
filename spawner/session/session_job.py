"""The job of one session, from submission to end."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from dsportal.slurm.states import JobState, Phase
from spawner.client.preflight import Preflight
from spawner.client.watch import Watch
from spawner.errors import SlurmError
from spawner.session.cancellation import cancel_job
from spawner.session.cluster import Cluster
from spawner.session.end_reason import add_state_step, read_session_end
from spawner.session.limit_numbers import situation_of_wait
from spawner.session.log_adapter import SessionLogAdapter
from spawner.session.progress import Progress
from spawner.session.requeue import RunOfJob
from spawner.session.session import Session
from spawner.session.session_end import SessionEnd
from spawner.session.spawn_error import StartFailedError
from spawner.session.submission import Submission
from spawner.slurm.job_script import Job
from spawner.slurm.jobs import JobRecord

Probe = Callable[[str], Awaitable[object]]


class SessionJob:
    """One session's job.

    Args:
        save: Writes a changed session to the hub's database at once.
        gpus: In words, for example "2 simulated GPUs".
        read_secret: Returns the token of the server, which must not be shown.
    """

    def __init__(
        self,
        cluster: Cluster,
        session: Session,
        *,
        save: Callable[[Session], None],
        on_over: Callable[[], None],
        running_start_timeout_s: float,
        progress: Progress,
        gpus: str,
        read_secret: Callable[[], str],
        log: logging.Logger,
    ) -> None:
        self.session = session
        self.progress = progress
        self._cluster = cluster
        self._save = save
        self._on_over = on_over
        self._running_start_timeout_s = running_start_timeout_s
        self._gpus = gpus
        self._read_secret = read_secret
        self._log = SessionLogAdapter(log, lambda: self.session)
        self._submission = Submission(
            cluster, lambda: self.session, self._take_job_id, progress, self._log
        )
        self._watch: Watch | None = None
        self._ending: asyncio.Task[SessionEnd] | None = None
        self._news = asyncio.Event()
        self._deadline: float | None = None
        self._run = RunOfJob()
        self._is_requeued = self._is_missing = False
        self._why_lost = SessionEnd.of_requeue
        if session.job_id:
            self._begin_watch(is_hot=not session.is_ready)

    @property
    def is_over(self) -> bool:
        """Whether the job, or the run of it that served the session, has certainly ended."""
        return (
            self._is_requeued
            or self._is_missing
            or (self._watch is not None and self._watch.is_over)
        )

    async def submit(
        self, job: Job, environment: Mapping[str, str], preflight: Preflight | None = None
    ) -> None:
        """Submit the job, as `Submission.submit`; `stop` finds one whose submission was cut off."""
        await self._submission.submit(job, environment, preflight)

    async def find(self) -> bool:
        """Return whether there is a job; search for it if its id was never saved."""
        self._is_missing = not await self._submission.find()
        return not self._is_missing

    async def wait_until_served(self, probe: Probe) -> str:
        """Wait in the queue, for the port and for the server's first answer; return its URL.

        `probe` waits until the server at a URL has answered.
        """
        watch = self._begin_watch(is_hot=True)
        job_id = self.session.job_id
        self.progress.add_step("submitted", 10, f"Job {job_id} was submitted, with {self._gpus}.")
        while not self.session.is_ready:
            # Before the state is read: news that comes meanwhile is seen in the next round.
            self._news.clear()
            situation = await situation_of_wait(self._cluster, self.session, watch.record)
            add_state_step(self.progress, watch.record, situation, gpus=self._gpus)
            if watch.is_over:
                raise await self._failure()
            record = watch.record
            if record is not None and record.state.phase is Phase.RUNNING:
                if self._deadline is None:
                    # Time in the queue does not count.
                    self._deadline = time.monotonic() + self._running_start_timeout_s
                if self.session.port:
                    await self._serve(record.node, probe, watch)
                    continue
            await self._wait(self._news.wait())
        # Nobody waits any more, so Slurm may be queried less often.
        watch.is_hot = False
        self.progress.add_step("ready", 95, "The notebook server is ready.")
        return self.session.url

    async def _serve(self, node: str, probe: Probe, watch: Watch) -> None:
        port = self.session.port
        self._change(address=await self._cluster.read_address(node))
        self.progress.add_step("starting", 80, f"The notebook server is starting on {node}.")
        await self._wait_for_answer(probe(self.session.url), watch, port)
        # If Slurm has put the job back into the queue meanwhile, another port will come.
        if self.session.port == port:
            self._change(is_ready=True)

    def take_port(self, port: int, certificate: str = "") -> bool:
        """Take the port that the server reports; return whether one was awaited.

        If it cannot be saved, an SQLAlchemyError is raised, and the server reports it again.
        """
        session = self.session
        # A server that did not get the hub's answer reports the same again. Another one is mostly
        # that of another run, after the job was put back into the queue while no hub looked.
        is_same = (session.port, session.certificate) in {(0, ""), (port, certificate)}
        if session.is_ready and not is_same:
            self._why_lost = SessionEnd.of_second_server
            self._lose_server()
            self._on_state()
            return False
        if session.is_ready or self.is_over or not is_same:
            return False
        if not session.port:
            try:
                self._change(port=port, certificate=certificate)
            except SQLAlchemyError:
                # Nothing was saved: the server's next report has to count as the first.
                self.session = session
                raise
        self.poll_soon()
        self._news.set()
        return True

    async def is_alive(self, timeout_s: float) -> bool:
        """Return whether the session may still run or wait; false only if the job is over.

        After a restart of the hub it waits `timeout_s` for Slurm's first answer.
        """
        watch = self._watch
        if watch is not None and watch.record is None and not watch.is_over:
            await self._cluster.watcher.next_poll(timeout_s)
        return not self.is_over

    async def stop(self) -> None:
        """Cancel the job and wait until it is gone; the search for orphans does what fails here."""
        if not await self._submission.settle():
            return
        if not await cancel_job(self._cluster, self._begin_watch(is_hot=True)):
            self._log.warning("Job %d is cancelled, but not gone yet", self.session.job_id)

    @property
    def record(self) -> JobRecord | None:
        """What squeue said last about the job; None before its first answer."""
        return None if self._watch is None else self._watch.record

    @property
    def left_s(self) -> int | None:
        """Seconds until the job's time limit; None if it does not run or has no limit."""
        return None if self._watch is None else self._cluster.watcher.left_s(self._watch)

    def set_end(self, *, left_s: int, ends_at: str) -> None:
        """Set an end that Slurm has just accepted, and have it confirmed soon."""
        if self._watch is not None:
            self._cluster.watcher.set_end(self._watch, left_s=left_s, ends_at=ends_at)
            self.poll_soon()

    def poll_soon(self) -> None:
        """Query Slurm about the job at once."""
        if self._watch is not None:
            self._cluster.watcher.poll_soon(self._watch)

    def close(self) -> None:
        """Stop following the job, without touching it."""
        self.progress.finish()
        if self._watch is not None:
            self._cluster.watcher.forget(self._watch)
            self._watch = None

    async def read_session_end(self) -> SessionEnd:
        """Return why the job of a used session ended; all callers share one query."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._read_session_end())
        return await asyncio.shield(self._ending)

    async def _read_session_end(self) -> SessionEnd:
        if self._is_requeued:
            await self._cancel_next_run()
            ending = self._why_lost(self.session.job_id)
        else:
            ending = await self._explain()
        self._log.warning("Job %d of %s: %s", self.session.job_id, self.session.user, ending.error)
        return ending

    async def _explain(self, *, late_s: float | None = None) -> SessionEnd:
        slurm, secrets = self._cluster.slurm, [self._read_secret()]
        ending = await read_session_end(slurm, self.session, secrets=secrets, late_s=late_s)
        state = ending.error.end.state if ending.error.end else JobState.UNKNOWN
        if state is JobState.COMPLETING or state.phase is Phase.WAITING:
            await self._cancel_next_run()
        # The watcher saw it leave its node, and took that for its end.
        is_requeued = state.phase is Phase.WAITING
        return SessionEnd.of_requeue(self.session.job_id) if is_requeued else ending

    async def _cancel_next_run(self) -> None:
        """Cancel a job that Slurm may run again: JupyterHub stops no server that has ended."""
        # If Slurm does not answer, the search for orphans does it.
        with contextlib.suppress(SlurmError):
            await self._cluster.slurm.cancel(self.session.key)

    def _take_job_id(self, job_id: int) -> None:
        # Set before it is saved: if saving fails, the job has to be cancelled.
        self.session = replace(self.session, job_id=job_id, submitted_at=time.time())
        self._begin_watch(is_hot=True)
        self._log.info("Job %d of %s is submitted", job_id, self.session.user)
        self._save(self.session)

    def _change(self, **changes: Any) -> None:
        self.session = replace(self.session, **changes)
        self._save(self.session)

    def _begin_watch(self, *, is_hot: bool) -> Watch:
        if self._watch is None:
            self._watch = self._cluster.watcher.watch(
                self.session.key, is_hot=is_hot, on_news=self._on_state
            )
        self._watch.is_hot = is_hot
        return self._watch

    def _on_state(self) -> None:
        if self._run.note(self.record):
            self._deadline = None
            if self.session.port:
                self._lose_server()
        self._news.set()
        if self.is_over:
            self._on_over()

    def _lose_server(self) -> None:
        self._run.forget()
        if self.session.is_ready:
            self._is_requeued = True
        else:
            self._change(port=0, address="", certificate="")

    async def _wait(self, awaitable: Awaitable[object]) -> None:
        deadline = self._deadline
        timeout_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            await asyncio.wait_for(awaitable, timeout_s)
        except TimeoutError as error:
            raise await self._failure(is_late=True) from error

    async def _wait_for_answer(self, probe: Awaitable[object], watch: Watch, port: int) -> None:
        answer = asyncio.ensure_future(probe)
        answer.add_done_callback(lambda _: self._news.set())
        try:
            while not answer.done():
                if watch.is_over:
                    raise await self._failure()
                if self.session.port != port:
                    return
                self._news.clear()
                if not answer.done():
                    await self._wait(self._news.wait())
            await answer
        finally:
            answer.cancel()

    async def _failure(self, *, is_late: bool = False) -> StartFailedError:
        ending = await self._explain(late_s=self._running_start_timeout_s if is_late else None)
        self._log.error("Job %d of %s: %s", self.session.job_id, self.session.user, ending.error)
        return StartFailedError(ending.error, log_lines=ending.log_lines)
