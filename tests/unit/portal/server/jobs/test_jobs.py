"""What is read out of squeue, sacct and job scripts."""

from __future__ import annotations

import pytest

from portal.server.errors import JobError
from portal.server.jobs.jobs import is_job_id, parse_accounting, parse_queue
from portal.server.jobs.queue import JobQueue
from portal.server.jobs.script import parse_options

QUEUE = """\
m|7|RUNNING|jupyter|1:02|8:00:00|1|16|gres/gpu:v100:2|None|dsportal-ada
m|8|PENDING|jupyter|0:00|10:00|2|8|gres:gpu:4|Resources|a | b
"""
ACCOUNTING = """\
5|CANCELLED by 1001|jupyter|00:01:00|00:10:00|1|8|billing=8,gres/gpu=1,cpu=8|0:0|first
6|FAILED|jupyter|00:00:01|00:10:00|1|1|billing=1,cpu=1|7:0|second|x
7|RUNNING|jupyter|00:01:02|08:00:00|1|16|cpu=16|0:0|dsportal-ada
"""


def test_the_queue_tells_sessions_from_jobs_and_why_one_waits() -> None:
    session, job = parse_queue(QUEUE, "m")

    assert (session.is_session, session.gpus, session.reason) == (True, "gpu:v100:2", "")
    assert (job.name, job.gpus) == ("a | b", "gpu:4")
    assert job.reason.startswith("The GPUs, cores or memory that the job needs are in use")
    assert not job.is_over


def test_a_limit_is_said_in_words_with_the_next_step() -> None:
    line = "m|9|PENDING|jupyter|0:00|10:00|1|8|gres:gpu:4|QOSMaxGRESPerUser|train\n"

    (job,) = parse_queue(line, "m")

    assert job.reason == (
        "You have reached your limit on GPUs. "
        "Stop another of your sessions or jobs; this job then starts by itself."
    )


def test_accounting_adds_what_has_ended() -> None:
    failed, cancelled = parse_accounting(ACCOUNTING, "|", user_uid=1001)

    assert (failed.id, failed.name) == ("6", "second|x")
    assert failed.reason.startswith("The job ended with an error (exit code 7).")
    assert cancelled.reason.startswith("The job was cancelled under your own name.")
    assert (cancelled.state, cancelled.gpus, cancelled.is_over) == ("CANCELLED", "gpu:1", True)


def test_a_line_that_is_cut_off_is_left_out() -> None:
    assert parse_queue("m|7|RUNNING\n\n", "m") == []


def test_a_job_name_with_a_line_break_adds_no_job_to_the_list() -> None:
    forged = QUEUE.replace("a | b", "a\n" + QUEUE.partition("\n")[0].removeprefix("m|"))

    assert len(parse_queue(forged, "m")) == 2


@pytest.mark.parametrize("text", ["12", "12_3", "12+1", "12_[1-5%2]"])
def test_job_ids_are_known(text: str) -> None:
    assert is_job_id(text)


@pytest.mark.parametrize("text", ["--user=grace", "12 13", "", "12_[a]", "1;2", "-1"])
async def test_no_option_of_a_command_passes_for_a_job_id(text: str) -> None:
    assert not is_job_id(text)
    with pytest.raises(JobError, match="is no job id"):
        await JobQueue("").cancel(text)


async def test_a_session_does_not_cancel_itself() -> None:
    with pytest.raises(JobError, match=r"is this session\. Save your work"):
        await JobQueue("7").cancel("7")


def test_a_script_says_what_it_asks_for() -> None:
    script = """#!/bin/bash
#SBATCH -N 2
#SBATCH -n 8
#SBATCH --ntasks-per-node 4
#SBATCH --gres=gpu:4 -p sxm2   # the fast ones

#SBATCH --job-name="two words" --exclusive
hostname
#SBATCH --mem=1G
"""

    assert parse_options(script) == [
        ("nodes", "2"),
        ("ntasks", "8"),
        ("ntasks-per-node", "4"),
        ("gres", "gpu:4"),
        ("partition", "sxm2"),
        ("job-name", "two words"),
        ("exclusive", ""),
    ]


@pytest.mark.parametrize("line", ['#SBATCH -J "open', "#SBATCH -", "#SBATCH", "#SBATCH -n8"])
def test_an_odd_line_is_no_error_of_ours(line: str) -> None:
    assert isinstance(parse_options(f"#!/bin/sh\n{line}\n"), list)
