"""Jobs and runs are one list."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from portal.server.jobs.job import SlurmJob
from portal.server.jobs.jobs import ENDED, parse_lists, parse_queue
from portal.server.jobs.listing import JobList, join_rows
from portal.server.jobs.run_folder import RunRecord
from portal.server.jobs.run_view import RunView

QUEUE = """\
m|9|PENDING|gpu|0:00|10:00|1|8|N/A|2026-11-23T09:00:00|Priority|||later
m|8|PENDING|gpu|0:00|10:00|1|8|N/A|N/A|Priority|||unknown
m|7|RUNNING|gpu|1:00|10:00|1|8|N/A|2026-11-23T06:00:00|None|node01||run
"""
ACCOUNTING = "6|COMPLETED|gpu|1:00|10:00|1|8||2026-11-23T05:00:00|0:0|node01|||ended"


def jobs() -> list[SlurmJob]:
    return parse_queue(QUEUE, "m") + parse_lists("", list(ENDED.rows(ACCOUNTING, "|")), "|")


def run(name: str, started_s: float, job_id: str = "", state: str = "done") -> RunView:
    record = RunRecord(
        name=name,
        function="train",
        label="",
        started_s=started_s,
        n_gpus=1,
        n_nodes=1,
        job_id=job_id,
        end=state if state == "done" else "",
        words="",
        seconds=0.0,
        done="",
        progress=None,
        progress_at_s=0.0,
        mlflow=None,
        notebook="",
        continues="",
        executes=False,
    )
    return RunView(record=record, state=state, words="", nodes="", size=None)


def test_what_waits_comes_first_and_what_is_over_last_the_newest_first() -> None:
    newest = jobs()[-1].at_s + 60
    runs = [run("newest", newest), run("oldest", 0.0)]

    rows = join_rows(jobs(), runs)

    names = [row.run.record.name if row.run else row.job.name for row in rows if row.run or row.job]
    assert names == ["later", "unknown", "run", "newest", "ended", "oldest"]


def test_a_run_and_the_job_that_is_its_own_are_one_row() -> None:
    rows = join_rows(jobs(), [run("own", 0.0, job_id="7", state="running")])

    assert len(rows) == len(jobs())
    (row,) = [row for row in rows if row.run]
    assert row.job is not None
    assert row.job.id == "7"
    assert not row.is_over


def test_a_run_of_another_cluster_is_not_the_job_that_has_its_id_here() -> None:
    own = run("own", 0.0, job_id="7", state="unknown")
    there = replace(own, record=replace(own.record, cluster="volta"))

    rows = join_rows(jobs(), [there])

    assert len(rows) == len(jobs()) + 1
    assert [row.job for row in rows if row.run is not None] == [None]


def test_a_run_of_another_cluster_is_one_row_with_its_job_there() -> None:
    own = run("own", 0.0, job_id="7", state="waiting")
    there = replace(own, record=replace(own.record, cluster="volta"))
    job = replace(jobs()[0], id="Volta:7", name="own", cluster="Volta")

    rows = join_rows([*jobs(), job], [there])

    assert len(rows) == len(jobs()) + 1
    assert [row.job for row in rows if row.run is not None] == [job]


class _Queue:
    async def list_jobs(self) -> list[SlurmJob]:
        return jobs()


class _Runs:
    async def list_runs(self, jobs: object = None) -> list[RunView]:
        return []


async def test_jobs_that_wait_have_their_place_in_the_queue() -> None:
    asked: list[Sequence[int]] = []

    async def read_places(job_ids: Sequence[int]) -> dict[int, str]:
        asked.append(job_ids)
        return {9: "Place in the queue: at the front."}

    found = await JobList(cast(Any, _Queue()), cast(Any, _Runs()), read_places).as_json()
    places = {row["job"]["id"]: row["job"]["place"] for row in found["rows"]}

    assert asked == [[8, 9]]
    assert places == {"9": "Place in the queue: at the front.", "8": "", "7": "", "6": ""}
