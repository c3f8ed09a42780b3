"""The jobs of the cluster page are asked for once for all who look."""

from __future__ import annotations

import asyncio

import pytest

from spawner.client.cluster_jobs import ClusterJobs
from spawner.errors import SlurmUnavailableError
from spawner.slurm.cluster_jobs import ClusterJob


async def test_many_readers_share_one_question() -> None:
    n_asked = 0

    async def list_jobs() -> tuple[ClusterJob, ...]:
        nonlocal n_asked
        n_asked += 1
        return ()

    jobs = ClusterJobs(list_jobs)
    answers = await asyncio.gather(*(jobs.read(patience_s=1.0) for _ in range(60)))

    assert answers == [()] * 60
    assert n_asked == 1


async def test_a_slurm_that_does_not_answer_is_not_asked_by_each_reader() -> None:
    n_asked = 0

    async def list_jobs() -> tuple[ClusterJob, ...]:
        nonlocal n_asked
        n_asked += 1
        raise SlurmUnavailableError("Slurm did not answer.")

    jobs = ClusterJobs(list_jobs)
    for _ in range(5):
        with pytest.raises(SlurmUnavailableError):
            await jobs.read(patience_s=1.0)

    assert n_asked == 1


async def test_the_page_does_not_wait_for_a_slow_answer() -> None:
    async def list_jobs() -> tuple[ClusterJob, ...]:
        await asyncio.Event().wait()
        return ()

    assert await ClusterJobs(list_jobs).read(patience_s=0.01) is None
