"""The numbers of a limit on GPUs, from accounting and from the jobs that run."""

from types import SimpleNamespace
from typing import Any

import pytest

from dsportal.diagnosis import explain_waiting
from dsportal.slurm.states import JobState
from spawner.errors import JobRejectedError, SlurmUnavailableError
from spawner.session.limit_numbers import explain_refusal, situation_of_wait
from spawner.session.session import Session
from spawner.slurm.associations import Associations
from spawner.slurm.jobs import JobKey, JobRecord
from spawner.slurm.squeue import parse_gpus_in_use

USERS = """\
ada|research|research||long,normal|normal||12:00:00|gres/gpu=5
grace|research|research||normal|normal|||
joan|research|research||small|small|||
joan|research|thesis||normal|normal|gres/gpu=1||
"""
QOS = """\
normal||gres/gpu=4|gres/gpu=6|
small||gres/gpu:a100=2||
long||||
"""
IN_USE = """\
ada   research normal cpu=8,mem=8G,node=1,billing=8,gres/gpu=2,gres/gpu:v100=2
ada   research normal cpu=8,mem=8G,node=1,billing=8,gres/gpu=1
ada   research long   cpu=8,mem=8G,node=1,billing=8,gres/gpu=1
grace research normal cpu=8,mem=8G,node=1,billing=8,gres/gpu=2
grace research normal cpu=8,mem=8G,node=1,billing=8
"""


class Cluster:
    associations = Associations.parse(USERS, QOS)

    def __init__(self, *, is_silent: bool = False) -> None:
        self.is_silent = is_silent
        self.n_queries = 0
        self.catalog = SimpleNamespace(latest=lambda: None)
        self.gpus_in_use = SimpleNamespace(get=self._read_gpus_in_use)

    async def _read_gpus_in_use(self) -> Any:
        self.n_queries += 1
        if self.is_silent:
            raise SlurmUnavailableError("Slurm is not responding.")
        return parse_gpus_in_use(IN_USE)


def record(reason: str) -> JobRecord:
    key = JobKey(job_id=17, user="ada", name="dsportal-0")
    return JobRecord(
        key=key, state=JobState.PENDING, node="", starts_at="", comment="", reason=reason
    )


async def sentence(reason: str, cluster: Any, **session: Any) -> str:
    asked = Session(**{"session_id": "0", "user": "ada", "n_gpus": 2, "job_id": 17, **session})
    return explain_waiting(reason, await situation_of_wait(cluster, asked, record(reason))).sentence


@pytest.mark.parametrize(
    ("reason", "session", "expected"),
    [
        (
            "QOSMaxGRESPerUser",
            {},
            "You hold 3 GPUs and ask for 2 more, but the limit is 4 GPUs at a time.",
        ),
        (
            "AssocGrpGRES",
            {},
            "You hold 4 GPUs and ask for 2 more, but the limit is 5 GPUs at a time.",
        ),
        (
            "QOSGrpGRES",
            {"user": "grace"},
            "All jobs of your quality of service (QOS) together may hold 6 GPUs at a time, and "
            "that limit is reached.",
        ),
        (
            "AssocMaxGRESPerJob",
            {"user": "joan", "account": "thesis"},
            "You asked for 2 GPUs, but the limit is 1 GPU in one session.",
        ),
    ],
)
async def test_a_limit_on_gpus_is_said_with_its_numbers(
    reason: str, session: dict[str, Any], expected: str
) -> None:
    assert await sentence(reason, Cluster(), **session) == expected


@pytest.mark.parametrize(
    ("reason", "session"),
    [
        ("QOSMaxGRESPerUser", {"qos": "long"}),
        ("QOSMaxGRESPerUser", {"user": "grace", "n_gpus": 1}),
        ("QOSMaxGRESPerUser", {"user": "joan"}),
        ("QOSMaxGRESPerUser", {"user": "nobody"}),
        ("QOSMaxGRESPerUser", {"account": "other"}),
    ],
    ids=["no-limit", "room-left", "limit-of-a-type", "no-associations", "another-account"],
)
async def test_numbers_that_do_not_explain_the_wait_are_not_said(
    reason: str, session: dict[str, Any]
) -> None:
    assert await sentence(reason, Cluster(), **session) == "You have reached your limit on GPUs."


async def test_a_silent_slurm_leaves_the_sentence_without_numbers() -> None:
    cluster = Cluster(is_silent=True)

    assert await sentence("QOSMaxGRESPerUser", cluster) == "You have reached your limit on GPUs."


@pytest.mark.parametrize("reason", ["Resources", "QOSMaxCpuPerUserLimit", "AssocGrpGRESMinutes"])
async def test_slurm_is_asked_only_for_a_limit_on_gpus(reason: str) -> None:
    cluster = Cluster()

    await sentence(reason, cluster)

    assert cluster.n_queries == 0


async def test_the_longest_session_of_the_partition_is_named() -> None:
    catalog = SimpleNamespace(partitions={"jupyter": None}, max_walltime_s=lambda _: 86_400)
    cluster = Cluster()
    cluster.catalog.latest = lambda: catalog

    text = await sentence("PartitionTimeLimit", cluster, partition="jupyter", walltime_s=100_800)

    assert text == (
        "The session asks for more time (28 hours) than the partition jupyter allows (24 hours)."
    )


async def test_a_refusal_is_said_with_its_numbers() -> None:
    stderr = "sbatch: error: QOSMaxGRESPerUser\nsbatch: error: Job violates accounting/QOS policy\n"
    asked = Session(session_id="0", user="ada", n_gpus=2)
    cluster: Any = Cluster()

    error = await explain_refusal(cluster, asked, JobRejectedError("Refused.", stderr=stderr))

    assert str(error) == (
        "You hold 3 GPUs and ask for 2 more, but the limit is 4 GPUs at a time. "
        "Stop another of your sessions or jobs, then start again."
    )
    assert error.stderr == stderr
