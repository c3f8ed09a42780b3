"""What is read out of squeue, sacct and job scripts."""

from datetime import datetime
from pathlib import Path

import pytest

from dsportal.slurm.errors import OptionsError
from portal.server.jobs.job import Action, parse_action, parse_hours
from portal.server.jobs.jobs import (
    ENDED,
    N_ENDED,
    is_job_id,
    parse_gpus,
    parse_lists,
    parse_queue,
)
from portal.server.jobs.queue import JobQueue
from portal.server.jobs.script import parse_options
from portal.server.jobs.times import check_shorter

QUEUE = """\
m|7|RUNNING|jupyter|1:02:03|8:00:00|1|16|gres/gpu:v100:2|2026-11-23T06:00:00|None|node01||dsportal-ada
m|8|PENDING|jupyter|0:00|10:00|2|8|gres:gpu:4|2026-11-23T09:30:00|Resources|||a | b
"""
ACCOUNTING = """\
5|CANCELLED by 1001|jupyter|00:01:00|00:10:00|1|8|gres/gpu=1,cpu=8|Unknown|0:0|None assigned|||first
6|FAILED|jupyter|00:00:01|UNLIMITED|1|1|billing=1,cpu=1|2026-11-23T06:00:00|7:0|node01|||second|x
7|RUNNING|jupyter|00:01:02|08:00:00|1|16|cpu=16|2026-11-23T06:00:00|0:0|node01|||dsportal-ada
8|PENDING|jupyter|00:00:00|00:10:00|2|8|cpu=8,gres/gpu=8,gres/gpu:a100=8|Unknown|0:0||||a | b
"""


def test_the_queue_tells_sessions_from_jobs_and_why_one_waits() -> None:
    session, job = parse_queue(QUEUE, "m")

    assert (session.is_session, session.n_gpus, session.gpu_type) == (True, 2, "v100")
    assert (session.phase, session.reason) == ("running", "")
    assert (job.name, job.phase, job.label) == ("a | b", "waiting", "Waiting")
    assert job.reason.startswith("The GPUs, cores or memory that the job needs are in use")
    assert not job.is_over


def test_gpus_are_those_of_all_nodes_together() -> None:
    of_each_node = parse_queue(QUEUE, "m")[1]
    accounted = parse_queue(QUEUE, "m", parse_gpus(list(ENDED.rows(ACCOUNTING, "|")), {"8"}))[1]

    assert (of_each_node.n_gpus, of_each_node.gpu_type) == (8, "")
    assert (accounted.n_gpus, accounted.gpu_type) == (8, "a100")


def test_times_of_the_queue_and_of_accounting_are_alike() -> None:
    session, job = parse_queue(QUEUE, "m")
    failed, cancelled = parse_lists("", list(ENDED.rows(ACCOUNTING, "|")), "|")

    assert (session.elapsed, session.limit) == ("1 h 2 min", "8 h")
    assert (job.elapsed, job.limit) == ("", "10 min")
    assert (cancelled.elapsed, cancelled.limit) == ("1 min", "10 min")
    assert (failed.elapsed, failed.limit) == ("1 s", "")


@pytest.mark.parametrize(
    ("limit", "said"),
    [("1-00:00:00", "24 h"), ("9-00:00:00", "9 days"), ("2-03:04:00", "2 days 3 h 4 min")],
)
def test_long_limits_are_said_in_days(limit: str, said: str) -> None:
    (job,) = parse_queue(QUEUE.splitlines()[0].replace("8:00:00", limit), "m")

    assert job.limit == said


def test_only_a_job_that_waits_has_an_expected_start() -> None:
    session, job = parse_queue(QUEUE, "m")
    (unknown,) = parse_queue(QUEUE.splitlines()[1].replace("2026-11-23T09:30:00", "N/A"), "m")

    assert datetime.fromisoformat(job.starts_at) == datetime(2026, 11, 23, 9, 30).astimezone()
    assert (session.starts_at, unknown.starts_at) == ("", "")


def test_a_job_that_is_held_is_released() -> None:
    waiting = QUEUE.splitlines()[1]
    (held,) = parse_queue(waiting.replace("Resources", "JobHeldUser"), "m")
    (held_by_others,) = parse_queue(waiting.replace("Resources", "JobHeldAdmin"), "m")
    session, job = parse_queue(QUEUE, "m")
    (running,) = parse_queue(waiting.replace("PENDING", "RUNNING"), "m")

    assert held.actions == (Action.RELEASE, Action.SHORTEN)
    assert held.reason.endswith("Release it.")
    assert job.actions == held_by_others.actions == (Action.HOLD, Action.SHORTEN)
    assert running.actions == (Action.REQUEUE, Action.SHORTEN)
    assert session.actions == ()


@pytest.mark.parametrize(
    ("command", "has_script"),
    [
        ("sbatch train.job", True),
        ("/usr/bin/sbatch --parsable /home/ada/train.job 3", True),
        ("sbatch --parsable --job-name=kernel-of-7", False),
        ("srun hostname", False),
        ("", False),
    ],
)
def test_a_job_that_was_submitted_with_a_file_can_be_submitted_again(
    command: str, has_script: bool
) -> None:
    line = ACCOUNTING.splitlines()[1].replace("node01||", f"node01|{command}|")
    (ended,) = parse_lists("", list(ENDED.rows(line, "|")), "|")

    assert ended.has_script is has_script


def test_a_job_that_runs_again_says_when() -> None:
    line = QUEUE.splitlines()[1].replace("|||a | b", "||{}|train")
    mark = "dsportal: every monday at 04:00 (0a1b2c3d)"
    again, other = (parse_queue(line.format(one), "m")[0] for one in (mark, f"{mark} or so"))

    assert (again.again, again.name) == ("every Monday at 04:00", "train")
    waits = QUEUE.splitlines()[1].replace("Resources|||", f"BeginTime||{mark}|")
    assert parse_queue(waits, "m")[0].reason == ""
    paused = waits.replace("BeginTime", "JobHeldUser")
    assert parse_queue(paused, "m")[0].reason == "It is paused. Resume it, or end it."
    assert other.again == ""


@pytest.mark.parametrize(
    ("limit", "used"), [("1:00:00", "0:00"), ("30:00", "0:00"), ("2:00:00", "31:00")]
)
def test_a_time_limit_is_only_lowered_and_not_below_what_has_run(limit: str, used: str) -> None:
    with pytest.raises(OptionsError):
        check_shorter(30 * 60 if used != "0:00" else 3600, limit, used)
    check_shorter(30 * 60, "UNLIMITED", "29:00")


@pytest.mark.parametrize("hours", ["nan", "0.001", None, [1], "1e9"])
def test_a_time_limit_in_hours_is_a_number_of_them(hours: object) -> None:
    with pytest.raises(OptionsError):
        parse_hours(hours)
    assert parse_hours("0.5") == 1800


def test_a_limit_is_said_in_words_with_the_next_step() -> None:
    line = "m|9|PENDING|jupyter|0:00|10:00|1|8|gres:gpu:4|N/A|QOSMaxGRESPerUser|||train\n"

    (job,) = parse_queue(line, "m")

    assert job.reason == (
        "You have reached your limit on GPUs. "
        "Stop another of your sessions or jobs. This job then starts by itself."
    )


def test_accounting_adds_what_has_ended() -> None:
    failed, cancelled = parse_lists("", list(ENDED.rows(ACCOUNTING, "|")), "|", user_uid=1001)

    assert (failed.id, failed.name) == ("6", "second|x")
    assert failed.reason.startswith("The job ended with an error (exit code 7).")
    assert cancelled.reason.startswith("The job was cancelled under your own name.")
    assert (cancelled.state, cancelled.n_gpus, cancelled.is_over) == ("CANCELLED", 1, True)
    assert (failed.label, failed.phase) == ("Failed", "failed")


def test_of_many_jobs_that_have_ended_the_newest_are_listed_and_of_the_queue_each_once() -> None:
    line = "{}|COMPLETED|jupyter|00:01:00|00:10:00|1|8|cpu=8|2026-11-23T06:00:00|0:0|node01|||many"
    accounting = ACCOUNTING + "\n".join(line.format(job_id) for job_id in range(100, 10_100))
    queue = QUEUE.replace("m|7|", "m|10099|").replace("m|", "@|")

    jobs = parse_lists(queue, list(ENDED.rows(accounting.replace("|", "@"), "@")), "@")

    assert [job.id for job in jobs[:3]] == ["10099", "8", "10098"]
    assert len(jobs) == 2 + N_ENDED


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
    with pytest.raises(OptionsError, match="is no job id"):
        await JobQueue("", Path("/nowhere")).cancel(text)


@pytest.mark.parametrize("action", ["requeuehold", "", None, ["hold"]])
def test_nothing_else_is_done_to_a_job(action: object) -> None:
    with pytest.raises(OptionsError, match="Choose hold, release, requeue"):
        parse_action(action)


async def test_a_session_does_not_cancel_itself() -> None:
    with pytest.raises(OptionsError, match=r"is this session\. Save your work"):
        await JobQueue("7", Path("/nowhere")).cancel("7")


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
