"""Whatever happens to the jobs that look at GPUs, none is left behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from dsportal.slurm.states import JobState
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Grade
from portal.site.checks.gpu_answers import AllReduce
from portal.site.checks.gpu_findings import check_gpus
from portal.site.checks.gpu_pair import run_pair
from portal.site.checks.gpu_request import GpuRequest
from portal.site.checks.node_probe import MARK
from spawner.client.slurm import Slurm, Submission
from spawner.errors import JobRejectedError
from spawner.slurm.catalog import Catalog, Partition
from spawner.slurm.gres import GpuCount
from spawner.slurm.job_script import Job
from spawner.slurm.jobs import JobKey, JobRecord
from tests.support.eventually import eventually_async
from tests.support.slurm_nodes import idle_node

HERE = AllReduce(kernel="pytorch", backend="gloo", is_right=True)


NODES = (
    idle_node("n1", v100=GpuCount(total=4, free=4)),
    idle_node("n2", v100=GpuCount(total=4, free=4)),
)
REQUEST = GpuRequest(partition="jupyter", gpu_type="v100", n_gpus=1, nodes=NODES)


@dataclass
class FakeSlurm:
    """Takes jobs; each is in the next state of the list, and prints the next log."""

    states: list[JobState]
    logs: list[str] = field(default_factory=list)
    most_jobs: int = 99
    jobs: list[tuple[JobKey, Job, dict[str, Any]]] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)

    async def read_catalog(self) -> Catalog:
        partition = Partition(
            name="jupyter", is_default=True, is_up=True, max_walltime_s=None, nodes=NODES
        )
        return Catalog(partitions={"jupyter": partition})

    async def submit(self, user: str, job: Job, environment: Mapping[str, str]) -> Submission:
        if len(self.jobs) == self.most_jobs:
            raise JobRejectedError("Your job limit is reached.")
        name = next(word for word in job.argv if word.startswith("--job-name=")).partition("=")[2]
        key = JobKey(job_id=len(self.jobs), user=user, name=name)
        self.jobs.append((key, job, json.loads(environment["PROBE_QUESTION"])))
        return Submission(job_id=key.job_id)

    async def find_jobs(self, *, name: str) -> list[JobRecord]:
        (key,) = (key for key, _, _ in self.jobs if key.name == name)
        state = self.states[key.job_id]
        return [
            JobRecord(key=key, state=state, node="n1", starts_at="", comment="", reason="Resources")
        ]

    async def list_jobs(self) -> list[Any]:
        return self.jobs

    async def read_log(self, key: JobKey) -> str:
        return self.logs[key.job_id]

    async def cancel(self, key: JobKey) -> bool:
        self.ended.add(key.job_id)
        return True


def pair(slurm: FakeSlurm, settings: Settings) -> Any:
    return run_pair(cast("Slurm", slurm), settings, REQUEST, HERE, user="ada", wait_s=0.1)


def said(**answer: object) -> str:
    return f"{MARK}{json.dumps(answer)}\n"


async def test_two_jobs_meet_at_the_first_ones_node_and_are_ended(settings: Settings) -> None:
    slurm = FakeSlurm(states=[JobState.COMPLETED] * 2, logs=[said(backend="gloo")] * 2)

    trials = await pair(slurm, settings)

    (_, first, asked), (_, second, other) = slurm.jobs
    assert len(trials) == 2
    assert "--nodelist=n1" in first.argv
    assert "--nodelist=n2" in second.argv
    assert asked["meeting_place"] == other["meeting_place"]
    assert asked["meeting_place"].startswith("tcp://n1.cluster:3")
    assert (asked["rank"], asked["peer"]) == (0, "n2.cluster")
    assert (other["rank"], other["peer"]) == (1, "n1.cluster")
    assert slurm.ended == {0, 1}


async def test_a_job_that_waits_ends_the_one_that_waits_for_it(settings: Settings) -> None:
    slurm = FakeSlurm(states=[JobState.RUNNING, JobState.PENDING])

    (trial,) = await pair(slurm, settings)

    assert trial.record is not None
    assert trial.record.state is JobState.PENDING
    assert slurm.ended == {0, 1}


async def test_where_slurm_refuses_the_second_job_the_first_is_ended(settings: Settings) -> None:
    slurm = FakeSlurm(states=[JobState.RUNNING], most_jobs=1)

    with pytest.raises(JobRejectedError):
        await pair(slurm, settings)

    assert slurm.ended == {0}


async def test_a_port_that_is_in_use_is_not_the_last_word(settings: Settings) -> None:
    in_use = said(failed="DistNetworkError: port: 31000, code: -98, name: EADDRINUSE")
    logs = [in_use, in_use, said(backend="gloo"), said(backend="gloo")]
    slurm = FakeSlurm(states=[JobState.COMPLETED] * 4, logs=logs)

    trials = await pair(slurm, settings)

    assert [one.found for one in trials] == [{"backend": "gloo"}] * 2
    assert slurm.ended == {0, 1, 2, 3}


async def test_a_check_that_is_given_up_ends_its_job(settings: Settings) -> None:
    slurm = FakeSlurm(states=[JobState.RUNNING])
    looking = asyncio.ensure_future(
        check_gpus(cast("Slurm", slurm), settings, user="ada", partition="jupyter", wait_s=0.1)
    )
    await eventually_async(slurm.list_jobs, 30)

    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking

    assert slurm.ended == {0}


async def test_a_job_that_waits_too_long_is_told_with_its_reason(settings: Settings) -> None:
    slurm = FakeSlurm(states=[JobState.PENDING])

    (finding,) = await check_gpus(
        cast("Slurm", slurm), settings, user="ada", partition="jupyter", wait_s=0.0
    )

    assert finding.grade is Grade.SKIPPED
    assert "Slurm says: Resources" in finding.sentence
    assert slurm.ended == {0}


async def test_without_a_user_or_a_gpu_no_job_is_made(settings: Settings) -> None:
    slurm = FakeSlurm(states=[])
    others = replace(settings, choices=replace(settings.choices, gpu_types=("a100",)))

    for who, what in (("", settings), ("ada", others)):
        (finding,) = await check_gpus(
            cast("Slurm", slurm), what, user=who, partition="jupyter", wait_s=0.0
        )
        assert finding.grade is Grade.SKIPPED
        assert finding.cure

    assert slurm.jobs == []
