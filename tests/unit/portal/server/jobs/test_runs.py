"""Runs are listed with their state in Slurm, and changed only if that does no harm."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dsportal.slurm.errors import PortalError
from dsportal.task.folder import RunFolder
from dsportal.task.plan import End
from portal.server.jobs import runs as runs_module
from portal.server.jobs.job import SlurmJob
from portal.server.jobs.jobs import ENDED, parse_lists, parse_queue
from portal.server.jobs.queue import JobQueue
from portal.server.jobs.run_folder import RunRecord
from portal.server.jobs.run_view import STARTS_WITHIN_S, Listing, RunView, view_run
from portal.server.jobs.runs import Runs
from tests.support.plans import PLAN

OLDER = "20261123-040506-train-ab23"
NEWER = "20261123-040507-train-cd45"
NOTHING = Listing(jobs={}, steps={})
LATER_S = STARTS_WITHIN_S + 1


def record(*, job_id: str = "", end: str = "") -> RunRecord:
    return RunRecord(
        name=OLDER,
        function="train",
        label="",
        started_s=0.0,
        n_gpus=2,
        n_nodes=1,
        job_id=job_id,
        end=end,
        words="",
        progress=None,
        progress_at_s=0.0,
        mlflow=None,
        notebook="",
        continues="",
        executes=False,
        seconds=0.0,
        done="",
    )


def state(record: RunRecord, listing: Listing | None, now_s: float = LATER_S) -> str:
    return view_run(record, listing, None, now_s).state


def test_what_has_ended_need_not_be_asked_for() -> None:
    assert state(record(end="done"), None) == "done"


def test_a_step_of_a_session_runs_as_long_as_slurm_lists_it() -> None:
    assert state(record(), Listing(jobs={}, steps={OLDER: "12.3"})) == "running"
    assert state(record(), NOTHING) == "lost"
    assert state(record(), NOTHING, now_s=STARTS_WITHIN_S - 1) == "running"


def queued(state: str, reason: str, nodes: str = "") -> SlurmJob:
    line = f"m|12|{state}|gpu|0:05|5:00|2|8|N/A|2026-11-23T06:00:00|{reason}|{nodes}||{OLDER}"
    return parse_queue(line, "m")[0]


def view_of(job: SlurmJob) -> RunView:
    return view_run(record(job_id="12"), Listing(jobs={"12": job}, steps={}), None, LATER_S)


def test_a_job_says_where_it_runs_and_why_it_waits() -> None:
    view = view_of(queued("RUNNING", "None", "node[01-02]"))
    assert (view.state, view.nodes, view.is_over) == ("running", "node[01-02]", False)
    view = view_of(queued("PENDING", "Resources"))
    assert view.state == "waiting"
    assert view.words.startswith("The GPUs, cores or memory that the job needs are in use")


def test_a_run_whose_job_slurm_ended_says_why() -> None:
    line = f"12|OUT_OF_MEMORY|gpu|0:05|5:00|2|8||2026-11-23T06:00:00|0:125|node01|||{OLDER}"
    (job,) = parse_lists("", list(ENDED.rows(line, "|")), "|")
    view = view_of(job)
    assert (view.state, view.words) == ("lost", job.reason)


def test_without_slurm_nothing_is_known() -> None:
    view = view_run(record(job_id="12"), None, None, LATER_S)
    assert (view.state, view.is_over) == ("unknown", False)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Two runs that Slurm does not know."""

    async def ask(runs: Runs, jobs: object = None) -> Listing:
        return NOTHING

    monkeypatch.setattr(Runs, "_ask_slurm", ask)
    for name in (OLDER, NEWER):
        folder = tmp_path / "portal-runs" / name
        folder.mkdir(parents=True)
        RunFolder(folder).write_plan(PLAN)
    RunFolder(tmp_path / "portal-runs" / OLDER).write_end(End(status=0))
    return Runs(tmp_path, JobQueue("", tmp_path))


def test_the_newest_run_comes_first(runs: Runs) -> None:
    views = asyncio.run(runs.list_runs())
    assert [view.record.name for view in views] == [NEWER, OLDER]
    (view,) = asyncio.run(runs.list_runs(n=1))
    # Its folder is seconds old.
    assert time.time() - view.record.started_s < STARTS_WITHIN_S
    assert view.state == "running"


def test_there_may_be_no_runs(tmp_path: Path) -> None:
    assert asyncio.run(Runs(tmp_path, JobQueue("", tmp_path)).list_runs()) == []


def test_a_run_that_goes_on_is_not_removed(runs: Runs) -> None:
    with pytest.raises(PortalError, match="Stop it first"):
        asyncio.run(runs.remove(NEWER))


def test_a_run_that_has_ended_is_removed(runs: Runs) -> None:
    asyncio.run(runs.remove(OLDER))
    assert [path.name for path in runs.parent.iterdir()] == [NEWER]


@pytest.mark.parametrize("name", ["..", "studies", f"{OLDER}x/..", "20261123-040506-train-zz99"])
def test_nothing_but_runs_is_removed(runs: Runs, name: str) -> None:
    (runs.parent / "studies").mkdir()
    with pytest.raises(PortalError, match="There is no run"):
        asyncio.run(runs.remove(name))


def test_a_link_is_no_run(runs: Runs, tmp_path: Path) -> None:
    (runs.parent / "20261123-040508-train-ef67").symlink_to(tmp_path)
    with pytest.raises(PortalError, match="There is no run"):
        asyncio.run(runs.remove("20261123-040508-train-ef67"))


def test_a_run_is_named(runs: Runs) -> None:
    runs.rename(OLDER, "  with \n dropout ")
    views = asyncio.run(runs.list_runs())
    assert views[1].as_json()["label"] == "with dropout"
    with pytest.raises(PortalError, match="80 characters"):
        runs.rename(OLDER, "x" * 81)
    with pytest.raises(PortalError, match="is text"):
        runs.rename(OLDER, None)


def test_what_does_not_run_cannot_be_stopped(runs: Runs) -> None:
    with pytest.raises(PortalError, match="does not run any more"):
        asyncio.run(runs.stop(NEWER))


def test_a_run_of_another_cluster_says_where_it_is_and_is_stopped_only_there(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "volta")
    RunFolder(runs.parent / NEWER).write_plan(PLAN)
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "kepler")

    (view,) = asyncio.run(runs.list_runs(n=1))

    assert (view.state, view.record.cluster, view.is_over) == ("unknown", "volta", False)
    with pytest.raises(PortalError, match="on the cluster volta"):
        asyncio.run(runs.stop(NEWER))
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "volta")
    (view,) = asyncio.run(runs.list_runs(n=1))
    assert (view.state, view.record.cluster) == ("running", "")


def test_a_run_of_another_cluster_waits_or_runs_as_its_job_there_does() -> None:
    queued = f"m|7|PENDING|gpu|0:00|1:00|1|8|N/A|N/A|Priority|||{OLDER}"
    (job,) = parse_queue(queued, "m")
    there = replace(job, id="Volta:7", cluster="Volta")
    elsewhere = replace(record(job_id="7"), cluster="volta")

    assert state(elsewhere, Listing(jobs={"7": job}, steps={})) == "unknown"
    view = view_run(elsewhere, Listing(jobs={"Volta:7": there}, steps={}), None, LATER_S)
    assert (view.state, view.words) == ("waiting", job.reason)


def test_sizes_are_measured_when_asked_for(runs: Runs) -> None:
    assert asyncio.run(runs.list_runs())[0].size is None
    asyncio.run(runs.measure())
    size = asyncio.run(runs.list_runs())[0].size
    assert size is not None
    assert size.n_bytes > 0


def test_who_stops_a_run_that_comes_again_cancels_the_next_one(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, other = ("dsportal: every day at 04:00 (0a1b2c3d)", "dsportal: every day at 04:00 (ffff)")
    lines = [("12", "RUNNING", mark), ("13", "PENDING", mark), ("14", "PENDING", other)]
    text = "".join(
        f"m|{job_id}|{state}|gpu|0:05|5:00|2|8|N/A|N/A|None||{comment}|train\n"
        for job_id, state, comment in lines
    )
    jobs = {job.id: job for job in parse_queue(text, "m")}
    RunFolder(runs.parent / NEWER).write_job_id(12)
    asked: list[Sequence[str]] = []

    async def ask(runs: Runs, jobs_: object = None) -> Listing:
        return Listing(jobs=jobs, steps={})

    async def query(argv: Sequence[str], *, timeout_s: float) -> None:
        asked.append(argv)

    monkeypatch.setattr(Runs, "_ask_slurm", ask)
    monkeypatch.setattr(runs_module, "query", query)
    asyncio.run(runs.stop(NEWER))

    assert asked == [["scancel", "12", "13"]]
