"""Jobs on other clusters, as the hub tells of them."""

from typing import Any, cast

import pytest

from dsportal.slurm.errors import PortalError
from portal.server.jobs.elsewhere import parse_elsewhere
from portal.server.jobs.listing import JobList
from portal.server.jobs.queue import JobQueue
from tests.unit.portal.server.jobs.test_listing import _Queue, _Runs

WAITS = {
    "id": 7,
    "name": "train",
    "phase": "waiting",
    "partition": "other",
    "n_nodes": 2,
    "n_gpus": 4,
    "starts_s": 0.0,
    "reason": "Resources",
}
RUNS = {**WAITS, "id": 8, "name": "dsportal-0123", "phase": "running", "starts_s": 60.0}


def told(*jobs: object, cluster: str = "Volta", problem: str = "", n_more: int = 0) -> Any:
    return {"cluster": cluster, "problem": problem, "jobs": jobs, "n_more": n_more}


def test_a_job_elsewhere_has_its_cluster_and_why_it_waits_and_no_actions() -> None:
    (waits, runs), missing = parse_elsewhere([told(WAITS, RUNS)])

    assert (waits.id, waits.cluster, waits.n_gpus) == ("Volta:7", "Volta", 4)
    assert waits.label == "Waiting"
    assert "GPUs" in waits.reason
    assert not waits.actions
    assert (runs.label, runs.is_session, runs.reason, runs.at_s) == ("Running", True, "", 60.0)
    assert missing == ""


def test_a_cluster_that_does_not_answer_is_named_beside_the_jobs_of_the_others() -> None:
    away = told(cluster="Kepler", problem="Slurm is not responding.")

    jobs, missing = parse_elsewhere([away, told(WAITS, n_more=2)])

    assert [job.id for job in jobs] == ["Volta:7"]
    assert "Your jobs on Kepler are not known: Slurm is not responding." in missing
    assert "Volta has 2 more jobs of yours." in missing


def job_list(answer: object, others: str = "Volta") -> JobList:
    async def read() -> Any:
        if isinstance(answer, PortalError):
            raise answer
        return answer

    return JobList(cast(Any, _Queue()), cast(Any, _Runs()), None, read, others)


async def test_the_list_has_the_jobs_of_all_clusters() -> None:
    found = await job_list([told({**WAITS, "id": 9})]).as_json()

    ids = [row["job"]["id"] for row in found["rows"]]
    assert sorted(ids) == ["6", "7", "8", "9", "Volta:9"]
    assert found["missing"] == ""


@pytest.mark.parametrize("answer", [PortalError("The hub is away.", http_status=503), []])
async def test_without_the_hubs_answer_the_other_clusters_are_not_known(answer: object) -> None:
    found = await job_list(answer).as_json()

    assert found["missing"].startswith("Your jobs on Volta are not known: The hub ")
    assert found["problem"] == ""
    assert found["rows"]


async def test_where_there_is_one_cluster_nobody_is_asked() -> None:
    found = await job_list(AssertionError, others="").as_json()

    assert found["missing"] == ""


async def test_a_job_elsewhere_is_not_changed_from_here_and_it_is_said_where(
    tmp_path: Any,
) -> None:
    with pytest.raises(PortalError, match="Job 7 is on Volta"):
        await JobQueue("", tmp_path).cancel("Volta:7")
