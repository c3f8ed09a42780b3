from types import SimpleNamespace
from typing import Any

import pytest

from spawner.client.watch import Watch
from spawner.errors import SlurmUnavailableError
from spawner.session import cancellation
from spawner.session.cancellation import cancel_job
from spawner.slurm.jobs import JobKey


class Slurm:
    """A Slurm that cancels, whose cleanup takes a number of polls; None for ever."""

    def __init__(self, *, n_polls: int | None = None, is_found: bool = True) -> None:
        self.n_polls, self.is_found = n_polls, is_found
        self.n_silent = 0
        self.polled = 0
        self.job = Watch(
            JobKey(job_id=7, user="ada", name="dsportal-x"), is_hot=True, on_news=lambda: None
        )

    async def cancel(self, key: JobKey) -> bool:
        self.n_silent -= 1
        if self.n_silent >= 0:
            raise SlurmUnavailableError("no answer in time")
        return self.is_found

    def poll_soon(self, watch: Watch) -> None:
        assert watch is self.job
        self.polled += 1

    async def next_poll(self, timeout_s: float) -> None:
        if self.polled == self.n_polls:
            self.job.mark_gone()


async def cancel(slurm: Slurm) -> bool:
    cluster: Any = SimpleNamespace(slurm=slurm, watcher=slurm)
    return await cancel_job(cluster, slurm.job)


@pytest.fixture(autouse=True)
def is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_CANCEL_TIMEOUT_S", "_CANCEL_PAUSE_S", "_POLL_S"):
        monkeypatch.setattr(cancellation, name, 0.0)


async def test_a_job_is_cancelled_once_slurm_has_cleaned_up() -> None:
    slurm = Slurm(n_polls=3)

    assert await cancel(slurm)
    assert slurm.polled == 3


async def test_a_job_that_slurm_does_not_know_is_not_waited_for() -> None:
    slurm = Slurm(is_found=False)

    assert await cancel(slurm)
    assert slurm.polled == 0


async def test_a_cleanup_that_does_not_end_is_not_awaited_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancellation, "_GONE_TIMEOUT_S", 0.0)

    assert not await cancel(Slurm())


async def test_cancelling_is_tried_again_until_slurm_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancellation, "_CANCEL_TIMEOUT_S", 60.0)
    slurm = Slurm(n_polls=1)
    slurm.n_silent = 2

    assert await cancel(slurm)
    assert slurm.n_silent < 0


async def test_a_slurm_that_stays_silent_is_an_error() -> None:
    slurm = Slurm()
    slurm.n_silent = 99

    with pytest.raises(SlurmUnavailableError):
        await cancel(slurm)
