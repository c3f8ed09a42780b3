"""Partitions, nodes and one's own jobs on the cluster page."""

from datetime import datetime
from typing import Any

import pytest
from markupsafe import Markup

from dsportal.diagnosis import Situation, explain_waiting
from dsportal.diagnosis.messages import JOB
from dsportal.slurm.states import Phase
from portal.hub.pages.cluster_rows import MOST_NODES, list_nodes, list_own_jobs, list_partitions
from spawner.slurm.catalog import Catalog
from spawner.slurm.cluster_jobs import ClusterJob

NOW = datetime(2026, 11, 20, 12).astimezone()


def sinfo(
    name: str,
    *,
    state: str = "mixed",
    used: str = "gpu:v100:1(IDX:0)",
    cores: int = 8,
    gres: str = "gpu:v100:4",
    partition: str = "jupyter",
    limit: str = "1-00:00:00",
) -> str:
    return (
        f"{partition}|{partition}*|up|{limit}|UNLIMITED|{name}|10.77.0.1|{state}|"
        f"{cores}/0/0/40|384000|49152|{gres}|{used}|\n"
    )


def job(job_id: int, phase: Phase = Phase.RUNNING, **changes: Any) -> ClusterJob:
    known: dict[str, Any] = {
        "user": "ada",
        "partitions": ("jupyter",),
        "n_nodes": 1,
        "n_gpus": 2,
        "starts_at": "",
        "left_s": 3600,
        "reason": "None" if phase is Phase.RUNNING else "Resources",
    }
    return ClusterJob(job_id=job_id, phase=phase, **known | changes)


def test_each_partition_has_its_free_gpus_and_its_queue() -> None:
    catalog = Catalog.parse(
        sinfo("node01") + sinfo("node02", partition="long", limit="infinite", gres="", used="")
    )
    n_jobs = {
        ("jupyter", Phase.RUNNING): 1,
        ("jupyter", Phase.WAITING): 2,
        ("long", Phase.WAITING): 1,
    }

    rows = list_partitions(catalog, n_jobs)

    assert [(r.name, r.gpus, r.n_running, r.n_waiting, r.longest) for r in rows] == [
        ("jupyter", "3 of 4 free", 1, 2, "24 hours"),
        ("long", "none", 0, 1, ""),
    ]


def test_without_an_answer_of_squeue_no_job_is_counted() -> None:
    (row,) = list_partitions(Catalog.parse(sinfo("node01")), None)

    assert (row.n_running, row.n_waiting) == (None, None)


@pytest.mark.parametrize(
    ("line", "state", "tone", "cores"),
    [
        (sinfo("n"), "partly used", "good", "32 of 40 free"),
        (sinfo("n", state="idle", cores=0), "free", "good", "40 of 40 free"),
        (sinfo("n", used="gpu:v100:4(IDX:0-3)"), "full", "wait", "32 of 40 free"),
        (sinfo("n", cores=40), "full", "wait", "0 of 40 free"),
        (sinfo("n", state="mixed+planned"), "kept for a job that waits", "wait", "32 of 40 free"),
        (sinfo("n", state="drained"), "drained", "off", "0 of 40 free"),
    ],
)
def test_a_node_says_in_words_whether_it_takes_jobs(
    line: str, state: str, tone: str, cores: str
) -> None:
    (node,) = Catalog.parse(line).partitions["jupyter"].nodes

    (row,) = list_nodes([node])

    assert (row.state, row.tone, row.cores) == (state, tone, cores)


def test_a_large_cluster_shows_its_first_nodes() -> None:
    (node,) = Catalog.parse(sinfo("node01")).partitions["jupyter"].nodes

    rows = list_nodes([node] * 1000)

    assert len(rows) == MOST_NODES
    assert (rows[0].gpus, rows[0].memory) == ("3 of 4 v100 free", "327 GB of 375 GB free")


def test_jobs_that_run_are_listed_first_and_told_from_sessions_and_kernels() -> None:
    jobs = [job(1, Phase.WAITING), job(3, n_nodes=2, n_gpus=8), job(5, session_job_id=3)]

    rows = list_own_jobs(jobs, session_ids=frozenset({3}), now=NOW)

    assert [(r.job_id, r.state, r.kind) for r in rows] == [
        (3, "running", "session"),
        (5, "running", "kernel"),
        (1, "waiting", ""),
    ]
    assert (rows[0].gpus, rows[0].nodes, rows[0].when) == ("8 GPUs", "2 nodes", "1 h left")
    assert rows[0].why == ""


def test_a_job_that_waits_says_why_and_when_it_is_expected_to_start() -> None:
    waiting = job(1, Phase.WAITING, starts_at="2026-11-20T14:20:00")

    (row,) = list_own_jobs([waiting], session_ids=frozenset(), now=NOW)

    why = explain_waiting("Resources", Situation(subject=JOB)).sentence
    assert row.why.startswith(why)
    assert Markup(row.when).striptags().startswith("expected 14:20")


def test_a_time_that_slurm_does_not_know_is_left_out() -> None:
    jobs = [job(1, left_s=None), job(2, Phase.WAITING)]

    rows = list_own_jobs(jobs, session_ids=frozenset({2}), now=NOW)

    assert [row.when for row in rows] == ["no limit", ""]
    assert "session" in rows[1].why
