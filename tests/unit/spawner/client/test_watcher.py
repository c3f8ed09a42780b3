"""One look at Slurm for all sessions, on a clock that the test moves."""

import asyncio
import heapq
import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from dsportal.slurm.states import JobState
from spawner.client.watch import Watch
from spawner.client.watcher import Watcher
from spawner.errors import SlurmUnavailableError
from spawner.slurm.jobs import JobEnd, JobKey, JobRecord


class Clock:
    """Time that passes only when the test lets it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []

    def __call__(self) -> float:
        return self.now

    async def wait(self, event: asyncio.Event, timeout_s: float) -> None:
        alarm = asyncio.Event()
        heapq.heappush(self._sleepers, (self.now + timeout_s, next(self._order), alarm))
        waiters = [asyncio.ensure_future(one.wait()) for one in (event, alarm)]
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
        for waiter in waiters:
            waiter.cancel()

    async def advance(self, seconds: float) -> None:
        end = self.now + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self.now, _, alarm = heapq.heappop(self._sleepers)
            alarm.set()
            await self.settle()
        self.now = end

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


class FakeCluster:
    """Jobs, and the calls that were made for them."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.jobs: dict[int, JobRecord] = {}
        self.ends: dict[JobKey, JobEnd] | SlurmUnavailableError | None = {}
        self.asked_at: list[float] = []
        self.asked_for: list[list[int]] = []
        self.is_down = False
        self.n_running = 0
        self.answer_after: asyncio.Event | None = None

    async def list_jobs(self, job_ids: Sequence[int]) -> list[JobRecord]:
        self.asked_at.append(self.clock.now)
        self.asked_for.append(list(job_ids))
        self.n_running += 1
        assert self.n_running == 1, "never two at once"
        try:
            jobs = dict(self.jobs)
            if self.answer_after is not None:
                await self.answer_after.wait()
        finally:
            self.n_running -= 1
        if self.is_down:
            raise SlurmUnavailableError("Slurm did not answer", stderr="Unable to contact")
        return [jobs[job_id] for job_id in job_ids if job_id in jobs]

    async def read_ends(self, keys: Sequence[JobKey]) -> dict[JobKey, JobEnd] | None:
        if isinstance(self.ends, SlurmUnavailableError):
            raise self.ends
        if self.ends is None:
            return None
        return {key: self.ends[key] for key in keys if key in self.ends}

    def put(self, key: JobKey, state: JobState, *, left_s: int | None = None) -> None:
        self.jobs[key.job_id] = JobRecord(
            key=key,
            state=state,
            node="n1",
            starts_at="",
            ends_at=str(left_s),
            left_s=left_s,
            comment="",
            reason="None",
        )


def key_of(number: int, *, user: str = "ada") -> JobKey:
    return JobKey(job_id=number, user=user, name=f"dsportal-{number}")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster(clock: Clock) -> FakeCluster:
    return FakeCluster(clock)


@pytest.fixture
def watcher(clock: Clock, cluster: FakeCluster) -> Watcher:
    return Watcher(
        cluster.list_jobs,
        cluster.read_ends,
        waiting_s=2.0,
        running_s=15.0,
        absent_s=60.0,
        clock=clock,
        wait=clock.wait,
    )


def nothing() -> None:
    pass


def watch(
    watcher: Watcher,
    cluster: FakeCluster,
    number: int = 1,
    *,
    state: JobState = JobState.RUNNING,
    is_hot: bool = False,
    on_news: Callable[[], None] = nothing,
) -> Watch:
    key = key_of(number)
    cluster.put(key, state)
    return watcher.watch(key, is_hot=is_hot, on_news=on_news)


async def test_one_look_serves_every_session(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    watches = [watch(watcher, cluster, number) for number in range(1, 1001)]

    await clock.advance(60)

    assert all(one.record is not None for one in watches)
    assert len(cluster.asked_at) <= 5
    assert len(cluster.asked_for[0]) == 1000


async def test_while_somebody_waits_slurm_lists_all_jobs_no_more_often_than_otherwise(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    for number in range(1, 101):
        watch(watcher, cluster, number)
    watch(watcher, cluster, 200, state=JobState.PENDING, is_hot=True)
    await clock.advance(20)
    cluster.asked_for.clear()

    await clock.advance(60)

    of_all = [asked for asked in cluster.asked_for if len(asked) == 101]
    assert len(of_all) <= 4
    assert [asked for asked in cluster.asked_for if asked not in of_all] == [[200]] * (
        len(cluster.asked_for) - len(of_all)
    )


async def test_an_early_look_is_at_the_job_that_it_was_asked_for(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one, other = watch(watcher, cluster, 1), watch(watcher, cluster, 2)
    await clock.advance(5)
    cluster.put(one.key, JobState.FAILED)
    cluster.put(other.key, JobState.FAILED)

    watcher.poll_soon(one)
    await clock.advance(0.25)
    assert (one.is_over, other.is_over) == (True, False)
    await clock.advance(15)
    assert other.is_over


@pytest.mark.parametrize(("is_hot", "most"), [(True, 30), (False, 4)])
async def test_the_calls_of_a_minute_have_a_limit(
    clock: Clock, cluster: FakeCluster, watcher: Watcher, is_hot: bool, most: int
) -> None:
    watch(watcher, cluster, is_hot=is_hot)
    await clock.advance(20)
    before = len(cluster.asked_at)

    await clock.advance(600)

    assert most * 0.8 * 10 <= len(cluster.asked_at) - before <= most * 10


async def test_asking_for_an_early_look_again_and_again_does_not_raise_the_rate(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster, is_hot=True)
    await clock.advance(20)
    before = len(cluster.asked_at)

    for _ in range(600):
        watcher.poll_soon(one)
        await clock.advance(0.1)

    assert len(cluster.asked_at) - before <= 30 + 4


async def test_an_early_look_comes_at_once(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster, state=JobState.PENDING, is_hot=True)
    await clock.advance(10)
    cluster.put(one.key, JobState.RUNNING)

    watcher.poll_soon(one)
    await clock.advance(0.25)

    assert one.record is not None
    assert one.record.state is JobState.RUNNING


async def test_somebody_who_begins_to_wait_does_not_wait_for_the_slow_turn(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    watch(watcher, cluster, 1)
    await clock.advance(5)

    waiting = watch(watcher, cluster, 2, is_hot=True)
    await clock.advance(2.3)

    assert waiting.record is not None


@pytest.mark.parametrize(
    "state", [JobState.FAILED, JobState.NODE_FAIL, JobState.TIMEOUT, JobState.COMPLETING]
)
async def test_a_job_that_dies_while_somebody_waits_is_told_within_five_seconds(
    clock: Clock, cluster: FakeCluster, watcher: Watcher, state: JobState
) -> None:
    told_at: list[float] = []
    one = watch(watcher, cluster, is_hot=True, on_news=lambda: told_at.append(clock.now))
    await clock.advance(7)
    cluster.put(one.key, state)

    await clock.advance(5)

    assert one.is_over
    assert told_at[-1] <= 7 + 5
    assert one.is_gone == (state is not JobState.COMPLETING)


@pytest.mark.parametrize(
    "state",
    [JobState.SUSPENDED, JobState.STOPPED, JobState.REQUEUED, JobState.RESIZING, JobState.UNKNOWN],
)
async def test_no_odd_or_unknown_state_ends_a_session(
    clock: Clock, cluster: FakeCluster, watcher: Watcher, state: JobState
) -> None:
    one = watch(watcher, cluster, state=state)

    await clock.advance(3600)

    assert not one.is_over


async def test_a_slurm_that_does_not_answer_ends_no_session_and_is_asked_less_often(
    clock: Clock, cluster: FakeCluster, watcher: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
    one = watch(watcher, cluster, is_hot=True)
    await clock.advance(5)
    cluster.is_down = True
    before = len(cluster.asked_at)

    await clock.advance(3600)

    assert not one.is_over
    assert len(cluster.asked_at) - before < 75
    assert sum("No session is touched" in line for line in caplog.messages) == 1
    cluster.is_down = False
    await clock.advance(70)
    assert "Slurm answers again" in caplog.text


async def test_a_call_that_hangs_is_not_followed_by_another(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    cluster.answer_after = asyncio.Event()
    one = watch(watcher, cluster, is_hot=True)
    await clock.advance(60)
    assert len(cluster.asked_at) == 1

    cluster.answer_after.set()
    await clock.advance(1)

    assert one.record is not None


async def test_a_fault_in_one_look_does_not_end_the_watch(
    clock: Clock, cluster: FakeCluster, watcher: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
    one = watch(watcher, cluster, is_hot=True)
    jobs, cluster.jobs = cluster.jobs, None  # type: ignore[assignment]
    await clock.advance(3)
    cluster.jobs = jobs

    await clock.advance(60)

    assert one.record is not None
    assert "A look at Slurm failed" in caplog.text


async def test_a_job_that_is_absent_and_that_accounting_calls_ended_is_over(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster)
    await clock.advance(1)
    cluster.jobs.clear()
    cluster.ends = {one.key: JobEnd(state=JobState.COMPLETED)}

    await clock.advance(17)

    assert one.is_gone


@pytest.mark.parametrize(
    "ends",
    [None, {}],
    ids=["no accounting", "unknown to accounting"],
)
async def test_an_absent_job_that_nobody_knows_is_over_only_after_a_minute(
    clock: Clock,
    cluster: FakeCluster,
    watcher: Watcher,
    ends: dict[JobKey, JobEnd] | None,
) -> None:
    one = watch(watcher, cluster, is_hot=True)
    await clock.advance(1)
    cluster.jobs.clear()
    cluster.ends = ends

    await clock.advance(50)
    assert not one.is_over
    await clock.advance(20)

    assert one.is_gone


@pytest.mark.parametrize(
    "ends",
    [
        {key_of(1): JobEnd(state=JobState.RUNNING)},
        SlurmUnavailableError("no answer"),
    ],
    ids=["running to accounting", "accounting does not answer"],
)
async def test_an_absent_job_goes_on_while_accounting_does_not_call_it_ended(
    clock: Clock,
    cluster: FakeCluster,
    watcher: Watcher,
    ends: dict[JobKey, JobEnd] | SlurmUnavailableError,
) -> None:
    one = watch(watcher, cluster, is_hot=True)
    await clock.advance(1)
    cluster.jobs.clear()
    cluster.ends = ends

    await clock.advance(600)

    assert not one.is_over


async def test_one_look_after_a_long_silence_does_not_end_a_session(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster)
    await clock.advance(1)
    cluster.jobs.clear()
    await clock.advance(17)
    cluster.is_down = True
    await clock.advance(3600)
    cluster.is_down = False
    n_asked = len(cluster.asked_at)

    # A slurmctld that has just been started may not know its jobs yet.
    while len(cluster.asked_at) == n_asked:
        await clock.advance(1)
    assert not one.is_over
    await clock.advance(60)

    assert one.is_over


def watch_many(watcher: Watcher, cluster: FakeCluster) -> list[Watch]:
    return [watch(watcher, cluster, number) for number in range(1, 11)]


async def test_one_answer_never_ends_many_sessions(
    clock: Clock, cluster: FakeCluster, watcher: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
    watches = watch_many(watcher, cluster)
    await clock.advance(20)
    jobs = dict(cluster.jobs)

    for _ in range(5):
        cluster.jobs.clear()
        await clock.advance(100)
        cluster.jobs = dict(jobs)
        await clock.advance(20)

    assert not any(one.is_over for one in watches)
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 5, "one for each time"
    assert "10 of 10" in errors[0].getMessage()


@pytest.mark.parametrize("does_somebody_wait", [False, True])
async def test_many_sessions_end_once_slurm_has_said_so_for_another_minute(
    clock: Clock, cluster: FakeCluster, watcher: Watcher, does_somebody_wait: bool
) -> None:
    watches = watch_many(watcher, cluster)
    await clock.advance(20)
    cluster.jobs.clear()
    if does_somebody_wait:
        watch(watcher, cluster, 999, state=JobState.PENDING, is_hot=True)

    await clock.advance(100)
    assert not any(one.is_over for one in watches)
    await clock.advance(60)

    assert all(one.is_gone for one in watches)


async def test_many_sessions_of_which_slurm_says_how_they_ended_end_at_once(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    watches = watch_many(watcher, cluster)
    await clock.advance(20)
    cluster.jobs.clear()
    cluster.ends = {one.key: JobEnd(state=JobState.NODE_FAIL) for one in watches}

    await clock.advance(17)

    assert all(one.is_gone for one in watches)


async def test_no_job_is_over_because_slurm_hides_it(clock: Clock, cluster: FakeCluster) -> None:
    is_hidden = True

    async def sees_all() -> bool:
        return not is_hidden

    watcher = Watcher(
        cluster.list_jobs,
        cluster.read_ends,
        waiting_s=2.0,
        running_s=15.0,
        absent_s=60.0,
        sees_all=sees_all,
        clock=clock,
        wait=clock.wait,
    )
    one = watch(watcher, cluster)
    await clock.advance(20)
    cluster.jobs.clear()

    await clock.advance(3600)
    assert not one.is_over
    is_hidden = False
    await clock.advance(20)

    assert one.is_over


async def test_a_job_whose_user_the_name_service_does_not_know_runs_on(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster)
    await clock.advance(20)
    cluster.put(replace(one.key, user="nobody"), JobState.RUNNING)

    await clock.advance(600)

    assert not one.is_over


async def test_a_job_that_shows_again_is_counted_anew(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster, is_hot=True)
    await clock.advance(1)
    for _ in range(10):
        jobs, cluster.jobs = cluster.jobs, {}
        await clock.advance(50)
        cluster.jobs = jobs
        await clock.advance(5)

    assert not one.is_over


async def test_a_job_of_somebody_else_with_the_same_id_is_not_believed(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster, state=JobState.PENDING, is_hot=True)
    await clock.advance(3)
    cluster.jobs[1] = JobRecord(
        key=JobKey(job_id=1, user="grace", name="other"),
        state=JobState.RUNNING,
        node="n1",
        starts_at="",
        comment="",
        reason="",
    )

    await clock.advance(30)
    assert one.record is not None
    assert one.record.state is JobState.PENDING
    assert not one.is_over
    await clock.advance(60)

    assert one.is_over


async def test_nothing_is_asked_when_nothing_is_watched(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster)
    await clock.advance(20)
    watcher.forget(one)
    await clock.advance(20)
    before = len(cluster.asked_at)

    await clock.advance(600)

    assert len(cluster.asked_at) == before
    watch(watcher, cluster, 2)
    await clock.advance(1)
    assert len(cluster.asked_at) == before + 1


async def test_a_job_that_has_ended_is_not_asked_for_again(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster)
    watch(watcher, cluster, 2)
    await clock.advance(20)
    cluster.put(one.key, JobState.COMPLETING)
    await clock.advance(20)
    assert cluster.asked_for[-1] == [1, 2], "its node still cleans up"
    cluster.put(one.key, JobState.COMPLETED)
    await clock.advance(20)

    await clock.advance(20)

    assert cluster.asked_for[-1] == [2]


async def test_time_left_is_slurms_and_runs_down_between_two_looks(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    told: list[None] = []
    one = watch(watcher, cluster, on_news=lambda: told.append(None))
    assert watcher.left_s(one) is None
    cluster.put(one.key, JobState.RUNNING, left_s=600)
    await clock.advance(0)
    await clock.advance(10)
    assert watcher.left_s(one) == 590

    cluster.jobs[1] = replace(cluster.jobs[1], left_s=580)
    await clock.advance(7)

    assert 580 - 7 <= (watcher.left_s(one) or 0) <= 580
    assert len(told) == 1, "that time goes by is no news"


async def test_an_end_that_slurm_has_just_taken_counts_whatever_an_older_look_shows(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster)
    cluster.put(one.key, JobState.RUNNING, left_s=600)
    await clock.advance(10)
    cluster.answer_after = asyncio.Event()
    watcher.poll_soon(one)
    await clock.advance(2)

    watcher.set_end(one, left_s=7788, ends_at="7788")
    assert watcher.left_s(one) == 7788
    cluster.put(one.key, JobState.RUNNING, left_s=7700)
    cluster.answer_after.set()
    await clock.advance(1)

    assert watcher.left_s(one) == 7787
    assert one.record is not None
    assert one.record.ends_at == "7788"
    watcher.poll_soon(one)
    await clock.advance(1)
    assert one.record.ends_at == "7700"


async def test_a_job_that_waits_again_has_no_time_left(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster)
    cluster.put(one.key, JobState.PENDING, left_s=600)
    await clock.advance(1)

    assert watcher.left_s(one) is None


@pytest.fixture
def no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda least, most: least)


@pytest.mark.usefixtures("no_jitter")
@pytest.mark.parametrize("is_fault", [True, False], ids=["fault", "no answer"])
async def test_each_failure_doubles_the_pause_up_to_a_minute(
    clock: Clock,
    cluster: FakeCluster,
    watcher: Watcher,
    monkeypatch: pytest.MonkeyPatch,
    is_fault: bool,
) -> None:
    cluster.is_down = True
    if is_fault:
        monkeypatch.setattr("tests.unit.spawner.client.test_watcher.SlurmUnavailableError", OSError)
    watch(watcher, cluster, is_hot=True)

    await clock.advance(180)

    assert cluster.asked_at == [0, 4, 12, 28, 60, 120, 180]


async def test_slurm_is_silent_only_after_a_query_without_an_answer(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    assert not watcher.is_silent
    assert watcher.answered_at == 0

    cluster.is_down = True
    watch(watcher, cluster)
    await clock.advance(1)
    assert watcher.is_silent
    assert watcher.answered_at == 0

    cluster.is_down = False
    await clock.advance(60)
    assert not watcher.is_silent
    assert time.time() - watcher.answered_at < 60


@pytest.mark.usefixtures("no_jitter")
async def test_three_looks_in_a_minute_are_enough_to_miss_a_job(
    clock: Clock, cluster: FakeCluster
) -> None:
    watcher = Watcher(
        cluster.list_jobs,
        cluster.read_ends,
        waiting_s=2.0,
        running_s=30.0,
        absent_s=60.0,
        clock=clock,
        wait=clock.wait,
    )
    one = watcher.watch(key_of(1), is_hot=False, on_news=nothing)

    await clock.advance(59)
    assert not one.is_over

    await clock.advance(1)
    assert one.is_gone


async def test_a_job_that_accounting_calls_alive_does_not_hide_others_that_are_over(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    watches = [
        watcher.watch(key_of(number), is_hot=False, on_news=nothing) for number in range(1, 21)
    ]
    alive, over = watches[:10], watches[10:]
    cluster.ends = {one.key: JobEnd(state=JobState.RUNNING) for one in alive}

    await clock.advance(200)

    assert not any(one.is_over for one in alive)
    assert all(one.is_over for one in over)


async def test_an_answer_for_a_session_that_was_forgotten_meanwhile_harms_nobody(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    cluster.answer_after = asyncio.Event()
    news: list[int] = []
    one = watch(watcher, cluster, 1, on_news=lambda: news.append(1))
    two = watch(watcher, cluster, 2, on_news=lambda: news.append(2))
    await clock.settle()

    watcher.forget(one)
    cluster.answer_after.set()
    await clock.settle()

    assert news == [2]
    assert two.record is not None
    assert not watcher.is_silent


async def test_sessions_are_counted_by_what_they_do(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    watch(watcher, cluster, 1, state=JobState.PENDING, is_hot=True)
    watch(watcher, cluster, 2, is_hot=True)
    watch(watcher, cluster, 3)
    watch(watcher, cluster, 4)
    watch(watcher, cluster, 5, state=JobState.COMPLETING)
    await clock.advance(1)

    assert watcher.count_states() == {"waiting": 1, "starting": 1, "running": 2}


async def test_whoever_waits_for_an_answer_learns_whether_it_came(cluster: FakeCluster) -> None:
    watcher = Watcher(
        cluster.list_jobs, cluster.read_ends, waiting_s=2.0, running_s=15.0, absent_s=60.0
    )

    assert not await asyncio.wait_for(watcher.next_poll(0.01), 10)

    answer = asyncio.ensure_future(watcher.next_poll(10))
    await asyncio.sleep(0)
    one = watch(watcher, cluster)
    assert await asyncio.wait_for(answer, 10)
    watcher.forget(one)


async def test_requests_for_a_look_that_come_close_together_share_one(
    clock: Clock, cluster: FakeCluster, watcher: Watcher
) -> None:
    one = watch(watcher, cluster)
    await clock.advance(5)
    before = len(cluster.asked_at)

    for _ in range(4):
        watcher.poll_soon(one)
        await clock.advance(0.04)
    assert len(cluster.asked_at) == before + 1
    await clock.advance(1)

    assert len(cluster.asked_at) == before + 2
    assert cluster.asked_at[-1] - cluster.asked_at[-2] == pytest.approx(0.2)
