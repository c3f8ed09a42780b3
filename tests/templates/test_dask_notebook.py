"""The notebook whose Dask workers are Slurm jobs of its user."""

import re
import subprocess

import pytest

from tests.templates.notebooks import execute

pytestmark = [pytest.mark.cluster, pytest.mark.release]


@pytest.fixture(scope="module")
def on_slurm(session):
    return execute(session, "dask/on_slurm.ipynb")


def test_it_runs_to_its_end_without_a_warning_and_draws_who_did_what(on_slurm):
    assert on_slurm.standard_error == ""
    assert len(on_slurm.pictures) == 1


def test_the_workers_are_jobs_of_the_user_that_end_with_the_notebook(on_slurm, session):
    jobs = re.findall(
        r"^Workers after \d+ s: (\d), as Slurm jobs ([\d, ]+)$", on_slurm.text, re.MULTILINE
    )

    assert [(int(n), len(ids.split(", "))) for n, ids in jobs] == [(1, 1), (2, 2)]
    for job in jobs[-1][1].split(", "):
        show = ["scontrol", "show", "job", "--oneliner", job]
        shown = subprocess.run(show, capture_output=True, text=True, check=True).stdout
        assert f"UserId={session.user}(" in shown
        assert "JobState=CANCELLED" in shown or "JobState=COMPLETED" in shown


def test_scheduler_and_workers_know_each_other_by_keys_that_do_not_stay(on_slurm, session):
    private = session.working_dir / ".dask-on-slurm"

    assert re.search(r"^Scheduler: tls://", on_slurm.text, re.MULTILINE)
    assert private.stat().st_mode & 0o077 == 0
    assert [path.suffix for path in private.glob("dask-worker-*.err")] == [".err"] * 2
    assert list(private.glob(".dask-jobqueue.worker.*")) == []


def test_the_table_and_the_function_give_the_same_on_any_number_of_workers(on_slurm):
    assert "1,200,000 rows in 12 files" in on_slurm.text
    assert "The means are the same: True" in on_slurm.text
    assert re.search(r"2 workers: [\d.]+ s, [\d.]+ times as fast\.$", on_slurm.text, re.MULTILINE)
