"""Jobs of this hub that no session knows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from dsportal.slurm.states import JobState
from spawner.errors import SlurmError
from spawner.session import orphans
from spawner.session.orphans import OrphanSearch
from spawner.session.session import job_comment
from spawner.slurm.jobs import JobKey, JobRecord

HUB = "0123456789ab"


class FakeSlurm:
    """Jobs, and which of them were cancelled."""

    def __init__(self) -> None:
        self.jobs: list[JobRecord] = []
        self.cancelled: list[int] = []
        self.refused: set[int] = set()
        self.error: Exception | None = None

    async def find_jobs(self) -> list[JobRecord]:
        if self.error is not None:
            raise self.error
        return self.jobs

    async def cancel(self, key: JobKey) -> bool:
        if key.job_id in self.refused:
            raise SlurmError("sudo refused")
        self.cancelled.append(key.job_id)
        return True

    def put(
        self, job_id: int, session_id: str, *, hub: str = HUB, state: JobState = JobState.RUNNING
    ) -> None:
        self.jobs.append(
            JobRecord(
                key=JobKey(job_id=job_id, user="ada", name=f"dsportal-{session_id}"),
                state=state,
                node="n1",
                starts_at="",
                comment=job_comment(hub),
                reason="",
            )
        )


class Setting:
    """A search on a clock that the test moves."""

    def __init__(self, *, after_s: float = 120) -> None:
        self.slurm = FakeSlurm()
        self.now = 0.0
        self.known: set[str] = set()
        self.watched: set[JobKey] = set()
        self.n_reads = 0
        self.search = OrphanSearch(
            self.slurm,  # type: ignore[arg-type]
            hub=HUB,
            known_ids=self.read_ids,
            watched=lambda: self.watched,
            interval_s=300,
            after_s=after_s,
            log=logging.getLogger("orphans"),
            clock=lambda: self.now,
        )

    def read_ids(self) -> set[str]:
        self.n_reads += 1
        return self.known


@pytest.fixture
def setting() -> Setting:
    return Setting()


async def test_an_orphan_is_told_of_first_and_cancelled_after_its_time(
    setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    setting.slurm.put(1, "aa")

    await setting.search.search()
    assert setting.slurm.cancelled == []
    assert "Job 1 of ada belongs to no session" in caplog.text
    setting.now = 119
    await setting.search.search()
    assert setting.slurm.cancelled == []
    setting.now = 120
    await setting.search.search()

    assert setting.slurm.cancelled == [1]
    assert caplog.text.count("belongs to no session") == 1


async def test_jobs_that_sessions_watch_are_no_orphans_and_cost_no_look_at_the_database(
    setting: Setting,
) -> None:
    setting.slurm.put(1, "aa")
    setting.watched = {setting.slurm.jobs[0].key}

    for setting.now in (0.0, 1000.0):
        assert await setting.search.search() == []

    assert (setting.n_reads, setting.slurm.cancelled) == (0, [])


async def test_known_ended_and_foreign_jobs_are_left_alone(setting: Setting) -> None:
    setting.known = {"aa"}
    setting.slurm.put(1, "aa")
    setting.slurm.put(2, "bb", state=JobState.COMPLETED)
    setting.slurm.put(3, "cc", hub="ffffffffffff")

    for setting.now in (0.0, 1000.0):
        assert await setting.search.search() == []

    assert setting.slurm.cancelled == []


async def test_a_job_that_is_taken_up_meanwhile_is_no_orphan_any_more(setting: Setting) -> None:
    setting.slurm.put(1, "aa")
    await setting.search.search()
    setting.known = {"aa"}
    setting.now = 1000
    await setting.search.search()
    setting.known = set()
    setting.now = 1001
    await setting.search.search()

    assert setting.slurm.cancelled == []


async def test_a_session_that_begins_while_slurm_is_asked_is_no_orphan(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find_jobs() -> list[JobRecord]:
        setting.known = {"aa"}
        setting.slurm.put(1, "aa")
        return setting.slurm.jobs

    monkeypatch.setattr(setting.slurm, "find_jobs", find_jobs)

    assert await setting.search.search() == []


async def test_an_orphan_that_cannot_be_cancelled_keeps_no_other_alive(
    setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    setting.slurm.put(1, "aa")
    setting.slurm.put(2, "bb")
    setting.slurm.refused = {1}
    await setting.search.search()
    setting.now = 120

    await setting.search.search()

    assert setting.slurm.cancelled == [2]
    assert "orphan job 1 of ada could not be cancelled: sudo refused" in caplog.text


async def pauses_of(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, changes: Sequence[Callable[[], object]] = ()
) -> list[float]:
    """Return how long the search waits after each look; before each further one comes a change."""
    pauses: list[float] = []
    left = list(changes)

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        if not left:
            raise asyncio.CancelledError
        left.pop(0)()

    fake = SimpleNamespace(ensure_future=asyncio.ensure_future, sleep=sleep)
    monkeypatch.setattr(orphans, "asyncio", fake)
    before = asyncio.all_tasks()
    setting.search.start()
    setting.search.start()
    (task,) = asyncio.all_tasks() - before
    await asyncio.wait([task])
    assert task.cancelled()
    return pauses


async def test_as_long_as_there_is_an_orphan_the_search_comes_back_when_its_time_is_up(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = await pauses_of(setting, monkeypatch, [lambda: setting.slurm.put(1, "aa")])

    assert pauses == [300, 120]


async def test_an_orphan_that_may_go_at_once_is_looked_for_each_second_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = Setting(after_s=0)
    setting.slurm.put(1, "aa")

    assert await pauses_of(setting, monkeypatch) == [1]


@pytest.mark.parametrize("error", [SlurmError("no answer"), RuntimeError("database is locked")])
async def test_a_search_that_fails_is_followed_by_another(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    setting.slurm.error = error

    def mend() -> None:
        setting.slurm.error = None
        setting.slurm.put(1, "aa")

    assert await pauses_of(setting, monkeypatch, [mend]) == [300, 120]
