"""What Slurm's commands print about jobs."""

from __future__ import annotations

import pytest

from dsportal.slurm.listing import new_mark
from dsportal.slurm.states import JobState
from spawner.slurm.jobs import JobKey, match_job, parse_sacct, parse_scontrol_job, parse_squeue

KEY = JobKey(job_id=42, user="ada", name="dsportal-0123")


def test_a_running_job_is_read_with_its_node() -> None:
    (record,) = parse_squeue(
        "42~ada~RUNNING~node01~2026-11-20T20:33:00~2026-11-21T04:33:00~7:59:30~3~dsportal-0123~"
        "data-scientist-portal hub=ab~None",
        "~",
    )

    assert record.key == KEY
    assert record.state is JobState.RUNNING
    assert (record.node, record.starts_at) == ("node01", "2026-11-20T20:33:00")
    assert record.ends_at == "2026-11-21T04:33:00"
    assert record.left_s == 8 * 3600 - 30
    assert record.n_restarts == 3
    assert record.comment == "data-scientist-portal hub=ab"


def test_a_waiting_job_has_no_node_and_a_reason_with_any_text() -> None:
    (record,) = parse_squeue(
        "42~ada~PENDING~n/a~N/A~N/A~INVALID~0~dsportal-0123~(null)~"
        "ReqNodeNotAvail, UnavailableNodes:n[1~2]",
        "~",
    )

    assert (record.node, record.starts_at, record.comment) == ("", "", "")
    assert record.reason == "ReqNodeNotAvail, UnavailableNodes:n[1~2]"


def test_lines_that_are_no_job_are_left_out() -> None:
    assert parse_squeue("slurm_load_jobs error: x\n\n42~ada\n", "~") == []


def test_a_job_that_got_the_id_later_is_not_taken_for_the_session() -> None:
    (other,) = parse_squeue("42~ada~RUNNING~node01~N/A~N/A~INVALID~0~dsportal-9999~c~None\n", "~")

    assert match_job(KEY, [other]) is None


@pytest.mark.parametrize("line_break", ["\n", "\r", "\x0b", "\x85", "\u2028"])
@pytest.mark.parametrize("forged", ["42|ada|RUNNING|n1|n/a|n/a|0:30|0|dsportal-0123|c|None", "|42"])
def test_a_name_or_comment_cannot_add_a_line_about_another_job(
    line_break: str, forged: str
) -> None:
    mark = new_mark()
    text = f"x{line_break}{forged}"
    fields = ["43", "mallory", "RUNNING", "node01", "N/A", "N/A", "INVALID", "0", text, text, ""]
    records = parse_squeue(f"{mark.join(fields)}\n", mark)

    assert match_job(KEY, records) is None


def test_accounting_says_who_cancelled_a_job() -> None:
    ends = parse_sacct(
        "42~m~ada~m~CANCELLED by 20002~m~0:15~m~node01~m~08:00:00~m~dsportal-0123~m~None\n", "~m~"
    )

    end = ends[KEY]
    assert end.state is JobState.CANCELLED
    assert end.cancelled_by_uid == 20002
    assert (end.exit_code, end.signal, end.node) == (0, 15, "node01")


def test_a_job_that_never_had_a_node_has_none() -> None:
    ends = parse_sacct(
        "42~m~ada~m~CANCELLED by 0~m~0:0~m~None assigned~m~08:00:00~m~dsportal-0123~m~None\n", "~m~"
    )

    assert ends[KEY].node == ""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:01:00", 60), ("1-02:00:00", 93_600), ("UNLIMITED", None), ("Partition_Limit", None)],
)
def test_the_time_limit_is_the_one_at_the_end(text: str, seconds: int | None) -> None:
    ends = parse_sacct(f"42~ada~TIMEOUT~0:0~node01~{text}~dsportal-0123~None\n", "~")
    shown = parse_scontrol_job(
        f"JobId=42 JobName=dsportal-0123 UserId=ada(20001) JobState=TIMEOUT TimeLimit={text}\n"
    )

    assert ends[KEY].time_limit_s == seconds
    assert shown[KEY].time_limit_s == seconds


def test_scontrol_says_how_a_job_ended() -> None:
    ends = parse_scontrol_job(
        "JobId=42 JobName=dsportal-0123 UserId=ada(20001) GroupId=dsusers(20000) MCS_label=N/A "
        "JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Requeue=0 ExitCode=7:0 "
        "BatchHost=node01 Comment=a JobState=COMPLETED ExitCode=0:0\n"
    )

    end = ends[KEY]
    assert end.state is JobState.FAILED
    assert (end.exit_code, end.reason, end.node) == (7, "NonZeroExitCode", "node01")
