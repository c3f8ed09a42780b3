"""The job of one session, on a cluster of plain processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spawner.client.watcher import Watcher
from spawner.errors import SlurmUnavailableError
from spawner.hub.unwritable_database import StateDiskFullError
from spawner.session import cancellation, end_reason, submission
from spawner.session.progress import Progress
from spawner.session.session import Session
from spawner.session.session_job import SessionJob
from spawner.session.spawn_error import StartFailedError
from spawner.slurm.job_script import JobPlan, build_job
from spawner.slurm.jobs import JobKey, JobRecord
from spawner.slurm.resources import ResourcesPerGpu
from spawner.slurm.states import JobState
from tests.programs.spawner.fake_cluster import FakeCluster
from tests.support.eventually import eventually_async

TOKEN = "0123456789abcdef0123456789abcdef"


class Setting:
    """One session job and everything around it."""

    def __init__(self, folder: Path) -> None:
        self.cluster = FakeCluster(folder)
        slurm = self.cluster.slurm
        self.watcher = Watcher(
            slurm.list_jobs, slurm.accounting.read_ends, waiting_s=0.1, running_s=0.2, absent_s=0.4
        )
        self.saved: list[Session] = []
        self.ends = 0
        self.answers = asyncio.Event()
        session = Session.create(
            "ada", resources=ResourcesPerGpu().resources(1), walltime_s=3600, token_id=1
        )
        self.job = self.make_job(session)

    def make_job(self, session: Session, **changes: Any) -> SessionJob:
        arguments: dict[str, Any] = {
            "save": self.saved.append,
            "on_over": self.hear,
            "running_start_timeout_s": 20,
            "progress": Progress(),
            "gpus": "1 simulated GPU",
            "read_secret": lambda: TOKEN,
            "log": logging.getLogger("job"),
            **changes,
        }
        shared: Any = SimpleNamespace(
            slurm=self.cluster.slurm,
            watcher=self.watcher,
            read_address=self.read_address,
            known_catalog=None,
        )
        return SessionJob(shared, session, **arguments)

    async def read_address(self, node: str) -> str:
        return f"address-of-{node}"

    def hear(self) -> None:
        self.ends += 1

    async def submit(self, command: str, job: SessionJob | None = None) -> None:
        job = job or self.job
        plan = JobPlan(
            job_name=job.session.job_name,
            comment="c",
            resources=ResourcesPerGpu().resources(1),
            walltime_s=3600,
            server_argv=("bash", "-c", command),
        )
        await job.submit(build_job(plan), {"TOKEN": TOKEN})

    async def probe(self, url: str) -> None:
        await self.answers.wait()


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    setting = Setting(tmp_path)
    yield setting
    await setting.job.stop()
    setting.job.close()


def steps(job: SessionJob) -> Callable[[], Any]:
    async def read() -> list[str]:
        job.progress.finish()
        return [news.step.name async for news in job.progress.news()]

    return read


async def test_the_job_id_is_saved_as_soon_as_there_is_one(setting: Setting) -> None:
    await setting.submit("sleep 60")

    assert setting.saved[-1].job_id == 1
    assert setting.saved[-1].job_name == setting.job.session.job_name


async def test_a_session_is_served_when_the_port_came_and_the_server_answers(
    setting: Setting,
) -> None:
    await setting.submit("exec sleep 60")
    served = asyncio.ensure_future(setting.job.wait_until_served(setting.probe))
    assert setting.job.take_port(31000)
    assert setting.job.take_port(31000), "the server asks again if it did not hear the answer"
    assert not setting.job.take_port(31001)
    setting.answers.set()

    assert await served == "http://address-of-n1:31000"

    assert setting.saved[-1].is_ready
    assert setting.saved[-1].port == 31000
    assert not setting.job.take_port(31000), "nothing is awaited any more"
    assert await steps(setting.job)() == ["submitted", "running", "starting", "ready"]


async def test_a_session_with_a_certificate_keeps_the_first_one_and_is_served_by_tls(
    setting: Setting,
) -> None:
    await setting.submit("exec sleep 60")
    served = asyncio.ensure_future(setting.job.wait_until_served(setting.probe))
    assert setting.job.take_port(31000, "PEM")
    assert setting.job.take_port(31000, "PEM"), "the server asks again if it heard no answer"
    assert not setting.job.take_port(31000, "another")
    assert not setting.job.take_port(31000)
    setting.answers.set()

    assert await served == "https://address-of-n1:31000"

    assert setting.saved[-1].certificate == "PEM"


async def test_a_job_that_dies_in_the_queue_or_at_its_start_is_explained_with_its_log(
    setting: Setting,
) -> None:
    await setting.submit('echo "no such module; token=$TOKEN"; exit 7')

    with pytest.raises(StartFailedError) as caught:
        await setting.job.wait_until_served(setting.probe)

    message = caught.value.jupyterhub_message
    assert "exit code 7" in message
    assert "no such module" in message
    assert TOKEN not in message
    assert "no such module" in caught.value.jupyterhub_html_message


async def test_a_job_that_dies_after_the_port_came_is_explained_too(setting: Setting) -> None:
    await setting.submit("sleep 0.3; exit 7")
    setting.job.take_port(31000)

    with pytest.raises(StartFailedError, match="exit code 7"):
        await setting.job.wait_until_served(setting.probe)


async def test_a_server_that_never_answers_is_given_up(setting: Setting) -> None:
    job = setting.make_job(setting.job.session, running_start_timeout_s=0.2)
    await setting.submit("exec sleep 60", job)

    with pytest.raises(StartFailedError, match="did not respond"):
        await job.wait_until_served(setting.probe)

    assert await job.is_alive(5)
    await job.stop()


async def test_a_start_that_is_cancelled_while_sbatch_runs_leaves_no_job(
    setting: Setting,
) -> None:
    start = asyncio.ensure_future(setting.submit("exec sleep 60"))
    await asyncio.sleep(0.01)
    start.cancel()

    await setting.job.stop()

    records = await setting.cluster.slurm.find_jobs(name=setting.job.session.job_name)
    assert [record.state.phase.value for record in records] == ["over"]


async def test_a_job_that_the_hub_never_heard_of_is_found_by_its_name(setting: Setting) -> None:
    await setting.submit("exec sleep 60")
    forgotten = setting.make_job(setting.job.session.changed(job_id=0))

    assert await forgotten.find()

    assert forgotten.session.job_id == setting.job.session.job_id


async def test_stopping_ends_the_job_and_tells_once_that_it_is_over(setting: Setting) -> None:
    await setting.submit("exec sleep 60")
    assert await setting.job.is_alive(5)

    await setting.job.stop()

    assert not await setting.job.is_alive(5)
    assert setting.ends >= 1
    await setting.job.stop()


async def test_a_slurm_that_does_not_answer_keeps_the_session_alive(setting: Setting) -> None:
    await setting.submit("exec sleep 60")
    assert await setting.job.is_alive(5)
    setting.cluster.set("down", on=True)

    assert await setting.job.is_alive(0.5)

    setting.cluster.set("down", on=False)


async def test_a_job_that_slurm_lost_is_over_after_a_while(setting: Setting) -> None:
    await setting.submit("exec sleep 10")
    assert await setting.job.is_alive(5)
    setting.cluster.lose(1)

    async def is_over() -> bool:
        return not await setting.job.is_alive(0.1)

    await eventually_async(is_over, 15)


async def test_a_job_whose_submission_nobody_heard_of_is_the_sessions(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = setting.cluster.slurm.submit

    async def unheard(*arguments: Any, **options: Any) -> None:
        await submit(*arguments, **options)
        raise SlurmUnavailableError("no answer in time")

    monkeypatch.setattr(setting.cluster.slurm, "submit", unheard)

    await setting.submit("exec sleep 60")

    assert setting.saved[-1].job_id == 1
    await setting.job.stop()
    assert setting.job.is_over


async def test_a_job_of_somebody_else_with_the_sessions_name_is_not_taken(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = JobRecord(
        key=JobKey(job_id=7, user="mallory", name=setting.job.session.job_name),
        state=JobState.RUNNING,
        node="n1",
        starts_at="",
        comment="c",
        reason="None",
    )

    async def unheard(*arguments: Any, **options: Any) -> None:
        raise SlurmUnavailableError("no answer in time")

    async def find_jobs(*, name: str) -> list[JobRecord]:
        return [theirs]

    monkeypatch.setattr(setting.cluster.slurm, "submit", unheard)
    monkeypatch.setattr(setting.cluster.slurm, "find_jobs", find_jobs)

    with pytest.raises(SlurmUnavailableError):
        await setting.submit("exec sleep 60")

    assert setting.job.session.job_id == 0


async def test_stopping_is_tried_again_until_slurm_answers(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    await setting.submit("exec sleep 60")
    cancel = setting.cluster.slurm.cancel
    n_asked = 0

    async def cancel_at_the_third_time(key: JobKey) -> bool:
        nonlocal n_asked
        n_asked += 1
        if n_asked < 3:
            raise SlurmUnavailableError("no answer in time")
        return await cancel(key)

    monkeypatch.setattr(setting.cluster.slurm, "cancel", cancel_at_the_third_time)
    monkeypatch.setattr(cancellation, "_CANCEL_PAUSE_S", 0.01)

    await setting.job.stop()

    assert n_asked == 3
    assert setting.job.is_over


async def ready(setting: Setting) -> None:
    """Have a session whose server answers, and that Slurm was seen to run."""
    await setting.submit("exec sleep 60")
    setting.job.take_port(31000)
    setting.answers.set()
    await setting.job.wait_until_served(setting.probe)

    async def runs() -> bool:
        return setting.cluster.has_process(1)

    await eventually_async(runs, 15)


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "PENDING"},
        {"state": "REQUEUED"},
        {"state": "REQUEUE_HOLD"},
        {"n_restarts": "1"},
    ],
    ids=str,
)
async def test_a_session_whose_job_is_put_back_into_the_queue_ends_with_the_truth(
    setting: Setting, changes: dict[str, str]
) -> None:
    await ready(setting)
    assert await setting.job.is_alive(5)
    setting.cluster.change(1, **changes)

    async def is_over() -> bool:
        return not await setting.job.is_alive(0.1)

    await eventually_async(is_over, 15)

    assert setting.ends >= 1
    ending = await setting.job.read_session_end()
    assert "put it back into the queue" in ending.error.message
    assert ending.error.message.endswith(ending.error.next_step)
    (job,) = await setting.cluster.slurm.list_jobs([1])
    assert job.state is JobState.CANCELLED, "it does not run again for nobody"


async def test_a_requeue_of_which_only_the_cleanup_was_seen_ends_the_session_with_the_truth(
    setting: Setting,
) -> None:
    await ready(setting)
    setting.cluster.change(1, state="COMPLETING")

    async def is_over() -> bool:
        return not await setting.job.is_alive(0.1)

    await eventually_async(is_over, 15)
    setting.cluster.change(1, state="PENDING")

    ending = await setting.job.read_session_end()

    assert "put it back into the queue" in ending.error.message
    (job,) = await setting.cluster.slurm.list_jobs([1])
    assert job.state is JobState.CANCELLED, "it does not run again for nobody"


async def test_a_start_whose_job_leaves_its_node_is_not_started_again_for_nobody(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(end_reason, "_CLEANING_TIMEOUT_S", 0.0)
    await setting.submit("exec sleep 60")
    served = asyncio.ensure_future(setting.job.wait_until_served(setting.probe))

    async def runs() -> bool:
        return setting.job.record is not None and setting.cluster.has_process(1)

    await eventually_async(runs, 15)
    setting.cluster.change(1, state="COMPLETING")

    with pytest.raises(StartFailedError):
        await served

    (job,) = await setting.cluster.slurm.list_jobs([1])
    assert job.state is JobState.CANCELLED


async def test_a_server_of_another_run_of_the_job_is_not_taken_for_the_sessions(
    setting: Setting,
) -> None:
    await ready(setting)

    assert not setting.job.take_port(31000)
    assert await setting.job.is_alive(5), "a server that asks again is the same"
    assert not setting.job.take_port(31001)

    assert not await setting.job.is_alive(5)
    assert setting.ends >= 1


async def test_a_start_whose_job_is_put_back_into_the_queue_goes_on_with_its_new_port(
    setting: Setting,
) -> None:
    await setting.submit("exec sleep 60")
    served = asyncio.ensure_future(setting.job.wait_until_served(setting.probe))

    async def runs() -> bool:
        record = setting.job.record
        return record is not None and record.state is JobState.RUNNING

    await eventually_async(runs, 15)
    setting.job.take_port(31000)
    setting.cluster.change(1, state="PENDING")

    async def is_forgotten() -> bool:
        return setting.job.session.port == 0

    await eventually_async(is_forgotten, 15)
    setting.cluster.change(1, state="RUNNING", n_restarts="1")
    assert setting.job.take_port(31001)
    setting.answers.set()

    assert await served == "http://address-of-n1:31001"
    assert setting.saved[-1].is_ready


async def test_a_suspended_session_goes_on(setting: Setting) -> None:
    await ready(setting)
    setting.cluster.change(1, state="SUSPENDED")

    async def is_seen() -> bool:
        record = setting.job.record
        return record is not None and record.state is JobState.SUSPENDED

    await eventually_async(is_seen, 15)

    assert await setting.job.is_alive(0.1)
    assert setting.ends == 0


class FullDisk:
    """A database that takes nothing for a while."""

    def __init__(self, saved: list[Session]) -> None:
        self.saved = saved
        self.is_full = True

    def save(self, session: Session) -> None:
        if self.is_full:
            raise StateDiskFullError
        self.saved.append(session)


async def test_a_job_whose_id_cannot_be_kept_is_ended_with_the_start(setting: Setting) -> None:
    disk = FullDisk(setting.saved)
    job = setting.make_job(setting.job.session, save=disk.save)

    with pytest.raises(StateDiskFullError):
        await setting.submit("exec sleep 60", job)
    await job.stop()

    (record,) = await setting.cluster.slurm.list_jobs([1])
    assert record.state is JobState.CANCELLED
    job.close()


async def test_a_port_that_cannot_be_kept_is_taken_when_it_is_reported_again(
    setting: Setting,
) -> None:
    disk = FullDisk(setting.saved)
    disk.is_full = False
    job = setting.make_job(setting.job.session, save=disk.save)
    await setting.submit("exec sleep 60", job)
    disk.is_full = True
    with pytest.raises(StateDiskFullError):
        job.take_port(31000)

    disk.is_full = False
    assert job.take_port(31000)

    assert setting.saved[-1].port == 31000
    await job.stop()
    job.close()


async def test_a_start_whose_job_is_nowhere_is_over(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "_FIND_TIMEOUT_S", 0.1)

    assert not await setting.job.find()

    assert not await setting.job.is_alive(0.1)
