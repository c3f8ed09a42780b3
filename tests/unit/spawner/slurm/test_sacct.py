"""What sacct prints about ends and GPUs, and what is said where accounting does not answer."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from dsportal.slurm.states import JobState
from spawner.client.accounting import Accounting
from spawner.client.command import query
from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.slurm.jobs import JobKey
from spawner.slurm.sacct import (
    Allocation,
    gpu_hours,
    gpu_hours_used,
    parse_allocations,
    parse_ends,
)
from spawner.slurm.scontrol import parse_scontrol_job

KEY = JobKey(job_id=42, user="ada", name="dsportal-0123")


def test_accounting_says_who_cancelled_a_job() -> None:
    ends = parse_ends(
        "42~m~ada~m~CANCELLED by 20002~m~0:15~m~node01~m~08:00:00~m~dsportal-0123~m~None\n", "~m~"
    )

    end = ends[KEY]
    assert end.state is JobState.CANCELLED
    assert end.cancelled_by_uid == 20002
    assert (end.exit_code, end.signal, end.node) == (0, 15, "node01")


def test_a_job_that_never_had_a_node_has_none() -> None:
    ends = parse_ends(
        "42~m~ada~m~CANCELLED by 0~m~0:0~m~None assigned~m~08:00:00~m~dsportal-0123~m~None\n", "~m~"
    )

    assert ends[KEY].node == ""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:01:00", 60), ("1-02:00:00", 93_600), ("UNLIMITED", None), ("Partition_Limit", None)],
)
def test_the_time_limit_is_the_one_at_the_end(text: str, seconds: int | None) -> None:
    ends = parse_ends(f"42~ada~TIMEOUT~0:0~node01~{text}~dsportal-0123~None\n", "~")
    shown = parse_scontrol_job(
        f"JobId=42 JobName=dsportal-0123 UserId=ada(20001) JobState=TIMEOUT TimeLimit={text}\n"
    )

    assert ends[KEY].time_limit_s == seconds
    assert shown[KEY].time_limit_s == seconds


GOLDEN = re.sub(
    # Captured without AdminComment, which is empty by default.
    r"\|(?=[^|]*$)",
    "||",
    (Path(__file__).parents[1] / "golden" / "slurm-22.05" / "sacct-gpus.txt").read_text(),
    flags=re.MULTILINE,
)


NOON = datetime(2026, 11, 20, 12)


def held(start_h: float, end_h: float | None, n_gpus: int = 1) -> Allocation:
    ends_at = None if end_h is None else NOON + timedelta(hours=end_h)
    return Allocation(starts_at=NOON + timedelta(hours=start_h), ends_at=ends_at, n_gpus=n_gpus)


def test_a_capture_of_sacct_gives_the_jobs_with_gpus_and_the_sessions() -> None:
    def at(second: int) -> datetime:
        return datetime(2026, 11, 23, 6, 3, second)

    assert [
        (job.starts_at, job.ends_at, job.n_gpus, job.state, job.is_session)
        for job in parse_allocations(GOLDEN, "|")
    ] == [
        (at(42), at(47), 2, JobState.COMPLETED, True),
        (at(42), at(46), 1, JobState.COMPLETED, False),
        (at(42), at(42), 0, JobState.FAILED, True),
        (at(42), at(46), 1, JobState.CANCELLED, True),
        (at(46), None, 4, JobState.RUNNING, True),
    ]


@pytest.mark.parametrize(
    ("tres", "n_gpus"),
    [
        ("billing=8,cpu=8,gres/gpu:v100=2,gres/gpu=2,mem=96G,node=1", 2),
        ("cpu=8,gres/gpu=4", 4),
        ("cpu=8,gres/gpu:a100=1,gres/gpu:v100=2", 3),
    ],
)
def test_gpus_are_counted_once_however_they_are_listed(tres: str, n_gpus: int) -> None:
    line = f"7|2026-11-20T12:00:00|2026-11-20T13:00:00|{tres}|COMPLETED||train\n"

    (allocation,) = parse_allocations(line, "|")

    assert allocation.n_gpus == n_gpus


@pytest.mark.parametrize(
    "line",
    [
        "7|Unknown|Unknown|cpu=8,gres/gpu=4|RUNNING||train",
        "7|None|Unknown|cpu=8,gres/gpu=4|RUNNING||train",
        "7|2026-11-20T12:00:00|Unknown|cpu=8,mem=4G|RUNNING||train",
        "7.batch|2026-11-20T12:00:00|Unknown|gres/gpu=1|RUNNING||train",
        "7|2026-11-20T12:00:00|Unknown",
        "sacct: error: nothing",
        "",
    ],
)
def test_waiting_jobs_jobs_without_gpus_and_other_lines_are_left_out(line: str) -> None:
    assert parse_allocations(line, "|") == []


@pytest.mark.parametrize(
    ("allocation", "hours"),
    [
        (held(1, 3, n_gpus=2), 4.0),
        (held(-5, 1), 1.0),
        (held(9, 12), 1.0),
        (held(8, None), 2.0),
        (held(-5, -4), 0.0),
        (held(11, 12), 0.0),
    ],
)
def test_only_what_falls_between_the_two_moments_counts(
    allocation: Allocation, hours: float
) -> None:
    until = NOON + timedelta(hours=10)

    assert gpu_hours([allocation], since=NOON, until=until) == pytest.approx(hours)


def test_of_gpu_hours_those_are_used_that_were_measured_as_used() -> None:
    jobs = [
        replace(held(-2, 2, n_gpus=2), gpu_percent=25),
        replace(held(0, 1), gpu_percent=0),
        held(0, 9),
    ]

    assert gpu_hours_used(jobs, since=NOON, until=NOON + timedelta(hours=9)) == (5.0, 1.0)


@pytest.fixture
def accounting(tmp_path: Path) -> Callable[[str], Accounting]:
    """Return a function that makes an accounting whose sacct is a shell script."""

    def make(script: str) -> Accounting:
        program = tmp_path / "sacct"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return Accounting(partial(query, timeout_s=5, path=f"{tmp_path}:/usr/bin:/bin"))

    return make


async def test_accounting_that_is_down_is_told_in_a_sentence(
    accounting: Callable[[str], Accounting],
) -> None:
    down = accounting("echo 'sacct: error: slurm_persist_conn_open: failed' >&2; exit 1")

    with pytest.raises(SlurmUnavailableError, match="accounting is not responding"):
        await down.read_allocations("ada", NOON)


async def test_a_cluster_without_accounting_is_not_called_down(
    accounting: Callable[[str], Accounting],
) -> None:
    none = accounting("echo 'Slurm accounting storage is disabled' >&2; exit 1")

    with pytest.raises(SlurmError, match="keeps no accounting") as caught:
        await none.read_allocations("ada", NOON)

    assert not isinstance(caught.value, SlurmUnavailableError)


async def test_sacct_is_asked_for_one_user_from_one_moment_on(
    accounting: Callable[[str], Accounting],
) -> None:
    echo = accounting(
        'case "$*" in *"--user=ada --starttime=2026-11-20T12:00:00"*) ;; *) exit 1;; esac\n'
        'for word; do case "$word" in --delimiter=*) mark="${word#*=}";; esac; done\n'
        'job="7${mark}2026-11-20T12:00:00${mark}Unknown${mark}gres/gpu=1${mark}RUNNING"\n'
        'echo "$job${mark}${mark}x"'
    )

    assert len(await echo.read_allocations("ada", NOON)) == 1
