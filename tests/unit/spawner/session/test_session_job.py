"""The job of one session, with a Slurm in memory; tests/slurm has a real one."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import SQLAlchemyError

from dsportal.slurm.states import JobState
from spawner.client import watcher
from spawner.client.slurm import AcceptedJob
from spawner.client.watcher import Watcher
from spawner.errors import JobRejectedError, SlurmUnavailableError
from spawner.session import cancellation, end_reason, submission
from spawner.session.progress import Progress
from spawner.session.session import Session
from spawner.session.session_end import SessionEnd
from spawner.session.session_job import SessionJob
from spawner.session.spawn_error import StartFailedError
from spawner.slurm.jobs import JobEnd, JobKey, JobRecord
from tests.support.eventually import eventually_async

JOB_ID = 17
TOKEN = "0123456789abcdef0123456789abcdef"
JOB: Any = object()


class FakeSlurm:
    """Jobs, and what was asked of them."""

    def __init__(self) -> None:
        self.accounting = SimpleNamespace(is_kept=False, read_used=self.read_used)
        self.jobs: dict[int, JobRecord] = {}
        self.submission = AcceptedJob(job_id=JOB_ID, warnings=())
        self.submitted: list[tuple[Any, ...]] = []
        self.sbatch_error: Exception | None = None
        self.squeue_error: Exception | None = None
        self.cancel_error: Exception | None = None
        self.cancelled: list[JobKey] = []
        self.searched: list[str] = []
        self.end = JobEnd(state=JobState.FAILED, exit_code=3)
        self.log = f"starting with {TOKEN}\nout of luck\n"

    async def read_used(self, key: JobKey) -> str:
        return f"Job {key.job_id} used 1.0 of 8 cores on average."

    def put(self, key: JobKey, state: JobState, *, n_restarts: int = 0) -> None:
        self.jobs[key.job_id] = JobRecord(
            key=key,
            state=state,
            node="n1",
            starts_at="2026-11-22T10:00:00",
            ends_at="",
            left_s=3600,
            n_restarts=n_restarts,
            comment="",
            reason="None",
        )

    async def submit(self, user: str, job: Any, environment: Any, *, preflight: Any) -> AcceptedJob:
        self.submitted.append((user, job, environment, preflight))
        await asyncio.sleep(0)
        if self.sbatch_error is not None:
            raise self.sbatch_error
        return self.submission

    async def find_jobs(self, *, name: str = "") -> list[JobRecord]:
        self.searched.append(name)
        if self.squeue_error is not None:
            raise self.squeue_error
        return [job for job in self.jobs.values() if job.key.name == name]

    async def list_jobs(self, job_ids: Sequence[int]) -> list[JobRecord]:
        if self.squeue_error is not None:
            raise self.squeue_error
        return [self.jobs[job_id] for job_id in job_ids if job_id in self.jobs]

    async def read_ends(self, keys: Sequence[JobKey]) -> dict[JobKey, JobEnd]:
        return {}

    async def cancel(self, key: JobKey) -> bool:
        self.cancelled.append(key)
        if self.cancel_error is not None:
            raise self.cancel_error
        self.put(key, JobState.CANCELLED)
        return True

    async def read_end(self, key: JobKey) -> JobEnd:
        return self.end

    async def read_log(self, key: JobKey) -> str:
        return self.log


class Setting:
    """One session job and everything around it."""

    def __init__(self) -> None:
        self.slurm = FakeSlurm()
        self.watcher = Watcher(
            self.slurm.list_jobs, self.slurm.read_ends, waiting_s=0.02, running_s=0.02, absent_s=60
        )
        self.saved: list[Session] = []
        self.save_error: Exception | None = None
        self.n_ends = 0
        self.answers = asyncio.Event()
        self.probed: list[str] = []
        self.session = Session(
            user="ada", n_gpus=1, memory_mib=48 * 1024, walltime_s=3600, token_id=1
        )
        self.jobs: list[SessionJob] = []
        self.job = self.make_job(self.session)

    def make_job(self, session: Session, *, timeout_s: float = 20) -> SessionJob:
        shared: Any = SimpleNamespace(
            slurm=self.slurm,
            watcher=self.watcher,
            read_address=self.read_address,
            catalog=SimpleNamespace(latest=lambda: None),
        )
        job = SessionJob(
            shared,
            session,
            save=self.save,
            on_over=self.hear,
            running_start_timeout_s=timeout_s,
            progress=Progress(),
            gpus="1 GPU",
            read_secret=lambda: TOKEN,
            log=logging.getLogger("job"),
        )
        self.jobs.append(job)
        return job

    def save(self, session: Session) -> None:
        if self.save_error is not None:
            raise self.save_error
        self.saved.append(session)

    def hear(self) -> None:
        self.n_ends += 1

    async def read_address(self, node: str) -> str:
        return f"address-of-{node}"

    async def probe(self, url: str) -> None:
        self.probed.append(url)
        await self.answers.wait()

    @property
    def key(self) -> JobKey:
        return replace(self.session.key, job_id=JOB_ID)

    def put(self, state: JobState, **changes: str) -> None:
        self.slurm.put(self.key, state, **changes)

    async def see(self) -> None:
        """Wait for an answer of Slurm that is not older than now."""
        for _ in range(2):
            assert await self.watcher.next_poll(10)

    async def submit(self, job: SessionJob | None = None) -> None:
        await (job or self.job).submit(JOB, {"TOKEN": TOKEN})

    async def serve(self, job: SessionJob | None = None) -> str:
        """Let a submitted job run and its server answer on port 31000."""
        job = job or self.job
        self.put(JobState.RUNNING)
        self.answers.set()
        assert job.take_port(31000)
        return await asyncio.wait_for(job.wait_until_served(self.probe), 10)


@pytest.fixture
async def setting(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Setting]:
    monkeypatch.setattr(watcher, "_CLOSEST_S", 0.01)
    monkeypatch.setattr(cancellation, "_POLL_S", 0.01)
    setting = Setting()
    yield setting
    for job in setting.jobs:
        job.close()


async def test_a_job_is_submitted_for_its_user_with_what_was_given(setting: Setting) -> None:
    preflight: Any = object()

    await setting.job.submit(JOB, {"TOKEN": TOKEN}, preflight)

    assert setting.slurm.submitted == [("ada", JOB, {"TOKEN": TOKEN}, preflight)]
    assert [session.job_id for session in setting.saved] == [JOB_ID]
    assert setting.saved[0].submitted_at > 0
    assert setting.job.record is None
    assert not setting.job.is_over


async def test_a_warning_of_the_submission_is_shown(
    setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    setting.slurm.submission = AcceptedJob(job_id=JOB_ID, warnings=("Your home is nearly full.",))

    await setting.submit()

    (step,) = setting.job.progress.log
    assert (step.name, step.percent, step.message) == (
        "submitted",
        5,
        "Your home is nearly full.",
    )
    assert "Before the start of ada: Your home is nearly full." in caplog.text


async def test_a_refused_job_is_no_job(setting: Setting) -> None:
    setting.slurm.sbatch_error = JobRejectedError("Slurm refused it")
    setting.put(JobState.PENDING)

    with pytest.raises(JobRejectedError):
        await setting.submit()

    assert setting.saved == []


async def test_a_job_whose_submission_nobody_heard_of_is_found_by_its_name(
    setting: Setting,
) -> None:
    setting.slurm.sbatch_error = SlurmUnavailableError("Slurm did not answer")
    setting.put(JobState.PENDING)

    await setting.submit()

    assert setting.slurm.searched == [setting.session.job_name]
    assert setting.saved[-1].job_id == JOB_ID


@pytest.mark.parametrize("is_silent", [True, False])
async def test_a_submission_without_an_answer_and_without_a_job_fails(
    setting: Setting, is_silent: bool
) -> None:
    setting.slurm.sbatch_error = SlurmUnavailableError("Slurm did not answer")
    if is_silent:
        setting.slurm.squeue_error = SlurmUnavailableError("Slurm did not answer")
    # A name is no secret: this one is of somebody else.
    setting.slurm.put(replace(setting.key, user="eve"), JobState.PENDING)

    with pytest.raises(SlurmUnavailableError):
        await setting.submit()

    assert setting.saved == []


async def test_after_a_restart_a_job_with_an_id_is_not_searched_for(setting: Setting) -> None:
    job = setting.make_job(replace(setting.session, job_id=JOB_ID))

    assert await job.find()

    assert setting.slurm.searched == []


async def test_after_a_restart_a_job_without_an_id_is_searched_until_slurm_answers(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "_FIND_TIMEOUT_S", 30.0)
    setting.slurm.squeue_error = SlurmUnavailableError("Slurm did not answer")
    search = asyncio.ensure_future(setting.job.find())

    async def is_asked() -> bool:
        return bool(setting.slurm.searched)

    await eventually_async(is_asked, 10, every_s=0.01)
    setting.slurm.squeue_error = None
    setting.put(JobState.RUNNING)

    assert await search
    assert setting.saved[-1].job_id == JOB_ID
    assert not setting.job.is_over


async def test_after_a_restart_a_job_that_is_nowhere_is_over(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "_FIND_TIMEOUT_S", 0.01)

    assert not await asyncio.wait_for(setting.job.find(), 10)

    assert setting.job.is_over
    assert setting.saved == []


async def test_a_session_is_served_once_its_server_answers(setting: Setting) -> None:
    await setting.submit()

    assert await setting.serve() == "http://address-of-n1:31000"

    assert setting.probed == ["http://address-of-n1:31000"]
    assert setting.saved[-1] == setting.job.session
    assert setting.job.session.is_ready
    assert [(s.name, s.percent, s.message) for s in setting.job.progress.log][-2:] == [
        ("starting", 80, "The notebook server is starting on n1."),
        ("ready", 95, "The notebook server is ready."),
    ]
    assert setting.job.progress.log[0].message == "Job 17 was submitted, with 1 GPU."
    assert setting.job.progress.log[0].percent == 10


async def test_a_session_that_runs_is_watched_less_closely(setting: Setting) -> None:
    await setting.submit()
    setting.put(JobState.RUNNING)
    await setting.see()
    assert setting.watcher.count_states() == {"starting": 1}

    await setting.serve()

    assert setting.watcher.count_states() == {"running": 1}
    restored = setting.make_job(setting.job.session)
    assert setting.watcher.count_states() == {"running": 2}
    restored.close()
    assert setting.watcher.count_states() == {"running": 1}


async def test_the_time_in_the_queue_does_not_count(setting: Setting) -> None:
    job = setting.make_job(setting.session, timeout_s=0.1)
    setting.put(JobState.PENDING)
    await setting.submit(job)
    served = asyncio.ensure_future(job.wait_until_served(setting.probe))

    for _ in range(15):
        await setting.see()
    assert not served.done()

    setting.put(JobState.RUNNING)
    with pytest.raises(StartFailedError) as failed:
        await asyncio.wait_for(served, 10)
    assert "The job ran for 0 s, but its notebook server did not respond." in str(failed.value)


async def test_a_server_that_reports_but_never_answers_is_given_up(setting: Setting) -> None:
    job = setting.make_job(setting.session, timeout_s=0.1)
    setting.put(JobState.RUNNING)
    await setting.submit(job)
    assert job.take_port(31000)

    with pytest.raises(StartFailedError, match="did not respond"):
        await asyncio.wait_for(job.wait_until_served(setting.probe), 10)


@pytest.mark.parametrize("has_port", [True, False])
async def test_a_job_that_ends_before_its_server_answers_is_explained(
    setting: Setting, caplog: pytest.LogCaptureFixture, has_port: bool
) -> None:
    await setting.submit()
    setting.put(JobState.RUNNING)
    served = asyncio.ensure_future(setting.job.wait_until_served(setting.probe))
    if has_port:
        assert setting.job.take_port(31000)
    await setting.see()
    setting.put(JobState.FAILED)

    with pytest.raises(StartFailedError) as failed:
        await asyncio.wait_for(served, 10)

    assert "exit code 3" in str(failed.value)
    assert "out of luck" in failed.value.log_lines
    assert TOKEN not in failed.value.log_lines
    assert "Job 17 of ada: " in caplog.text
    assert setting.n_ends == 1


async def test_only_the_first_port_counts(setting: Setting) -> None:
    await setting.submit()
    setting.put(JobState.RUNNING)

    assert setting.job.take_port(31000, "PEM")
    assert setting.job.take_port(31000, "PEM"), "the server did not hear the answer"
    assert not setting.job.take_port(31001, "PEM")
    assert not setting.job.take_port(31000, "another")

    assert (setting.job.session.port, setting.job.session.certificate) == (31000, "PEM")
    assert len(setting.saved) == 2
    setting.answers.set()
    url = await asyncio.wait_for(setting.job.wait_until_served(setting.probe), 10)
    assert url == "https://address-of-n1:31000"


async def test_a_port_that_cannot_be_saved_is_not_taken(setting: Setting) -> None:
    await setting.submit()
    setting.save_error = SQLAlchemyError("locked")

    with pytest.raises(SQLAlchemyError):
        setting.job.take_port(31000)

    assert setting.job.session.port == 0
    setting.save_error = None
    assert setting.job.take_port(31001)


async def test_another_run_of_a_used_session_ends_it(setting: Setting) -> None:
    await setting.submit()
    await setting.serve()

    assert not setting.job.take_port(31000), "nothing is awaited any more"
    assert not setting.job.is_over
    assert not setting.job.take_port(31002)

    assert setting.job.is_over
    assert setting.n_ends >= 1
    ending = await setting.job.read_session_end()
    assert "A second notebook server reported" in ending.error.message
    assert "took the session's job off its node" not in ending.error.message


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_used_session_whose_job_waits_again_ends_and_its_job_is_cancelled(
    setting: Setting, caplog: pytest.LogCaptureFixture, is_cancelled: bool
) -> None:
    await setting.submit()
    await setting.serve()
    if not is_cancelled:
        setting.slurm.cancel_error = SlurmUnavailableError("Slurm did not answer")
    setting.put(JobState.PENDING)
    await setting.see()
    assert setting.job.is_over

    ends = [await setting.job.read_session_end() for _ in range(2)]

    assert setting.slurm.cancelled == [setting.key], "all callers share one"
    assert ends[0] is ends[1]
    assert "put it back into the queue" in str(ends[0].error)
    assert ends[0].error.job_id == JOB_ID
    assert f"Job 17 of ada: {ends[0].error}" in caplog.text


async def test_a_requeue_of_which_only_the_cleanup_was_seen_ends_the_session_with_the_truth(
    setting: Setting,
) -> None:
    await setting.submit()
    await setting.serve()
    setting.put(JobState.COMPLETING)
    await setting.see()
    assert setting.job.is_over
    setting.slurm.end = JobEnd(state=JobState.PENDING)

    end = await setting.job.read_session_end()

    assert "put it back into the queue" in str(end.error)
    assert setting.slurm.cancelled == [setting.key], "it does not run again for nobody"


async def test_a_start_whose_job_leaves_its_node_is_not_started_again_for_nobody(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(end_reason, "_CLEANING_TIMEOUT_S", 0.0)
    await setting.submit()
    setting.put(JobState.RUNNING)
    served = asyncio.ensure_future(setting.job.wait_until_served(setting.probe))
    await setting.see()
    setting.put(JobState.COMPLETING)
    setting.slurm.end = JobEnd(state=JobState.COMPLETING)

    with pytest.raises(StartFailedError):
        await asyncio.wait_for(served, 10)

    assert setting.slurm.cancelled == [setting.key]


async def test_a_used_session_whose_job_starts_again_ends(setting: Setting) -> None:
    await setting.submit()
    await setting.serve()
    await setting.see()
    assert not setting.job.is_over

    setting.put(JobState.RUNNING, n_restarts=1)
    await setting.see()

    assert setting.job.is_over


async def test_a_start_whose_job_starts_again_waits_for_the_new_port(setting: Setting) -> None:
    await setting.submit()
    setting.put(JobState.RUNNING)
    served = asyncio.ensure_future(setting.job.wait_until_served(setting.probe))
    assert setting.job.take_port(31000, "PEM")
    await setting.see()

    setting.put(JobState.PENDING)
    await setting.see()
    session = setting.job.session
    assert (session.port, session.address, session.certificate) == (0, "", "")
    assert not setting.job.is_over

    setting.put(JobState.RUNNING, n_restarts=1)
    await setting.see()
    assert setting.job.take_port(31001)
    setting.answers.set()

    assert await asyncio.wait_for(served, 10) == "http://address-of-n1:31001"


async def test_a_start_whose_job_slurm_puts_back_before_it_began_goes_on(setting: Setting) -> None:
    job = setting.make_job(setting.session, timeout_s=0.2)
    await job.submit(JOB, {})
    key = job.session.key
    served = asyncio.ensure_future(job.wait_until_served(setting.probe))
    setting.slurm.put(key, JobState.RUNNING)
    await setting.see()

    # Its node has not taken it. Slurm shows it so until the node is clean.
    setting.slurm.put(key, JobState.COMPLETING, n_restarts=1)
    for _ in range(3):
        await setting.see()
    assert not job.is_over
    await asyncio.wait({served}, timeout=0.3)
    assert not served.done(), "the time in the queue does not count"
    setting.slurm.put(key, JobState.RUNNING, n_restarts=1)
    await setting.see()
    assert job.take_port(31000)
    setting.answers.set()

    assert await asyncio.wait_for(served, 10) == "http://address-of-n1:31000"
    assert setting.slurm.cancelled == []


async def test_the_end_of_a_used_session_is_explained_with_its_log(
    setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    await setting.submit()
    await setting.serve()
    setting.put(JobState.FAILED)
    await setting.see()

    end = await setting.job.read_session_end()

    assert "exit code 3" in str(end.error)
    assert "out of luck" in end.log_lines
    assert end.used == "Job 17 used 1.0 of 8 cores on average."
    assert SessionEnd.from_state(end.to_state()) is not None
    assert TOKEN not in end.log_lines
    assert setting.slurm.cancelled == []
    assert f"Job 17 of ada: {end.error}" in caplog.text


async def test_a_session_is_alive_until_slurm_says_that_its_job_ended(setting: Setting) -> None:
    await setting.submit()
    setting.slurm.squeue_error = SlurmUnavailableError("Slurm did not answer")
    assert await asyncio.wait_for(setting.job.is_alive(0.05), 10)

    setting.slurm.squeue_error = None
    setting.put(JobState.COMPLETED)
    await setting.see()

    assert not await asyncio.wait_for(setting.job.is_alive(0.05), 10)


async def test_stopping_cancels_the_job_and_waits_until_it_is_gone(setting: Setting) -> None:
    await setting.submit()
    await setting.serve()

    await asyncio.wait_for(setting.job.stop(), 10)

    assert setting.slurm.cancelled == [setting.key]
    assert setting.job.is_over


async def test_stopping_during_the_submission_cancels_the_job(setting: Setting) -> None:
    start = asyncio.ensure_future(setting.submit())
    await asyncio.sleep(0)
    start.cancel()

    await asyncio.wait_for(setting.job.stop(), 10)

    assert setting.slurm.cancelled == [setting.key]


async def test_stopping_during_a_submission_that_cannot_be_saved_cancels_the_job(
    setting: Setting,
) -> None:
    setting.save_error = SQLAlchemyError("locked")
    start = asyncio.ensure_future(setting.submit())
    await asyncio.sleep(0)
    start.cancel()
    setting.put(JobState.RUNNING)

    await asyncio.wait_for(setting.job.stop(), 10)

    assert setting.slurm.cancelled == [setting.key]


async def test_stopping_finds_a_job_whose_id_was_never_heard(setting: Setting) -> None:
    setting.put(JobState.PENDING)
    setting.save_error = SQLAlchemyError("locked")

    await asyncio.wait_for(setting.job.stop(), 10)

    assert setting.slurm.cancelled == [setting.key]


async def test_stopping_without_a_job_cancels_nothing(setting: Setting) -> None:
    setting.slurm.sbatch_error = JobRejectedError("Slurm refused it")
    with pytest.raises(JobRejectedError):
        await setting.submit()

    await asyncio.wait_for(setting.job.stop(), 10)

    assert setting.slurm.cancelled == []


async def test_a_new_end_counts_at_once(setting: Setting) -> None:
    assert setting.job.left_s is None
    setting.job.set_end(left_s=7200, ends_at="")
    assert setting.job.left_s is None

    await setting.submit()
    await setting.serve()
    await setting.see()
    assert setting.job.left_s == pytest.approx(3600, abs=60)
    setting.slurm.squeue_error = SlurmUnavailableError("Slurm did not answer")

    setting.job.set_end(left_s=7200, ends_at="2026-11-22T13:00:00")

    assert setting.job.left_s == pytest.approx(7200, abs=60)
    assert setting.job.record is not None
    assert setting.job.record.ends_at == "2026-11-22T13:00:00"


async def test_what_is_closed_hears_no_more(setting: Setting) -> None:
    await setting.submit()
    await setting.serve()

    setting.job.close()
    setting.put(JobState.COMPLETED)
    await asyncio.sleep(0)

    assert setting.watcher.count_states() == {}
    assert setting.job.record is None
    assert setting.n_ends == 0
