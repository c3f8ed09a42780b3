"""Where a job stands in the queue, told to many and asked for once."""

import asyncio
import threading
from collections.abc import Iterable, Iterator

from spawner.client.queue import Queue, QueuePlace, queue_places
from spawner.errors import SlurmUnavailableError
from spawner.slurm.squeue import QueuedJob, parse_queue

TEXT = """\
m|7|4294901752|jupyter|Priority|train|with|bars
m|8|4294901751|jupyter|Priority|dsportal-0123456789abcdef
m|9|4294901750|jupyter|JobHeldUser|held
m|10|0|jupyter|Resources|held
m|11|4294901748|jupyter|Dependency|later
other|12|4294901999|jupyter|Priority|forged
m|13|4294901747|cpu,gpu|Resources|dsportal-fedcba9876543210
nonsense
"""


def job(job_id: int, priority: int, *partitions: str, is_session: bool = True) -> QueuedJob:
    return QueuedJob(
        job_id=job_id,
        priority=priority,
        partitions=partitions or ("jupyter",),
        is_session=is_session,
    )


def test_jobs_that_are_held_and_lines_of_others_do_not_count() -> None:
    jobs = parse_queue(TEXT, "m")

    assert [(j.job_id, j.partitions, j.is_session) for j in jobs] == [
        (7, ("jupyter",), False),
        (8, ("jupyter",), True),
        (13, ("cpu", "gpu"), True),
    ]


def test_the_higher_priority_goes_first_then_the_older_job() -> None:
    places = queue_places([job(5, 10), job(3, 10), job(4, 99), job(6, 1)])

    assert places == {
        4: QueuePlace(n_jobs=0, n_sessions=0),
        3: QueuePlace(n_jobs=1, n_sessions=1),
        5: QueuePlace(n_jobs=2, n_sessions=2),
        6: QueuePlace(n_jobs=3, n_sessions=3),
    }


def test_jobs_of_kernels_and_users_have_a_place_too() -> None:
    places = queue_places([job(1, 9, is_session=False), job(2, 8), job(3, 7, is_session=False)])

    assert places == {
        1: QueuePlace(n_jobs=0, n_sessions=0),
        2: QueuePlace(n_jobs=1, n_sessions=0),
        3: QueuePlace(n_jobs=2, n_sessions=1),
    }


def test_each_partition_has_a_queue_of_its_own() -> None:
    places = queue_places([job(1, 9, "a"), job(2, 8, "a"), job(3, 7, "b"), job(4, 6, "a", "b")])

    assert places[3].n_jobs == 0
    assert places[4].n_jobs == 1


class Setting:
    """Slurm as a queue asks it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.n_asked = 0
        self.is_down = False
        self.queue = Queue(self.list_queue, age_s=15, stale_s=120, clock=lambda: self.now)

    async def list_queue(self) -> list[QueuedJob]:
        self.n_asked += 1
        await asyncio.sleep(0)
        if self.is_down:
            raise SlurmUnavailableError("down")
        return [job(1, 9), job(2, 8)]


async def test_a_thousand_sessions_cost_one_question() -> None:
    setting = Setting()

    places = await asyncio.gather(*(setting.queue.place(2) for _ in range(1000)))

    assert set(places) == {QueuePlace(n_jobs=1, n_sessions=1)}
    assert setting.n_asked == 1
    setting.now = 14
    await setting.queue.place(1)
    assert setting.n_asked == 1
    setting.now = 15
    await setting.queue.place(1)
    assert setting.n_asked == 2


async def test_the_last_place_is_told_for_a_while_when_slurm_is_down() -> None:
    setting = Setting()
    await setting.queue.place(2)
    setting.is_down = True

    setting.now = 100
    assert await setting.queue.place(2) == QueuePlace(n_jobs=1, n_sessions=1)
    setting.now = 121
    assert await setting.queue.place(2) is None


async def test_a_job_that_is_not_in_line_has_no_place() -> None:
    assert await Setting().queue.place(99) is None


class JobsSeenFrom(list[QueuedJob]):
    """Jobs that note in which threads they are gone through."""

    def __init__(self, jobs: Iterable[QueuedJob]) -> None:
        super().__init__(jobs)
        self.threads: list[threading.Thread] = []

    def __iter__(self) -> Iterator[QueuedJob]:
        self.threads.append(threading.current_thread())
        return super().__iter__()


async def test_a_long_queue_is_counted_once_and_holds_nothing_else_up() -> None:
    jobs = JobsSeenFrom([job(1, 9), job(2, 8)])

    async def list_queue() -> list[QueuedJob]:
        return jobs

    queue = Queue(list_queue)

    assert [await queue.place(1), await queue.place(2)] == [
        QueuePlace(n_jobs=0, n_sessions=0),
        QueuePlace(n_jobs=1, n_sessions=1),
    ]
    (thread,) = jobs.threads
    assert thread is not threading.main_thread()
