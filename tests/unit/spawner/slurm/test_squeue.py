"""What squeue prints about jobs."""

import pytest

from dsportal.slurm.listing import new_nonce
from dsportal.slurm.states import JobState
from spawner.slurm.jobs import JobKey, match_job
from spawner.slurm.squeue import parse_records, parse_running_jobs

KEY = JobKey(job_id=42, user="ada", name="dsportal-0123")


def test_a_running_job_is_read_with_its_node() -> None:
    (record,) = parse_records(
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
    (record,) = parse_records(
        "42~ada~PENDING~n/a~N/A~N/A~INVALID~0~dsportal-0123~(null)~"
        "ReqNodeNotAvail, UnavailableNodes:n[1~2]",
        "~",
    )

    assert (record.node, record.starts_at, record.comment) == ("", "", "")
    assert record.reason == "ReqNodeNotAvail, UnavailableNodes:n[1~2]"


@pytest.mark.parametrize(("prefix", "n_jobs"), [("", 1), ("dsportal-", 0)])
def test_of_all_jobs_of_a_cluster_only_those_of_sessions_are_read(prefix: str, n_jobs: int) -> None:
    line = "42~ada~RUNNING~node01~N/A~N/A~INVALID~0~portal-check-0123~c~None\n"

    assert len(parse_records(line, "~", prefix=prefix)) == n_jobs


def test_lines_that_are_no_job_are_left_out() -> None:
    assert parse_records("slurm_load_jobs error: x\n\n42~ada\n", "~") == []


def test_a_job_that_got_the_id_later_is_not_taken_for_the_session() -> None:
    (other,) = parse_records("42~ada~RUNNING~node01~N/A~N/A~INVALID~0~dsportal-9999~c~None\n", "~")

    assert match_job(KEY, [other]) is None


@pytest.mark.parametrize("line_break", ["\n", "\r", "\x0b", "\x85", "\u2028"])
@pytest.mark.parametrize("forged", ["42|ada|RUNNING|n1|n/a|n/a|0:30|0|dsportal-0123|c|None", "|42"])
def test_a_name_or_comment_cannot_add_a_line_about_another_job(
    line_break: str, forged: str
) -> None:
    nonce = new_nonce()
    text = f"x{line_break}{forged}"
    fields = ["43", "mallory", "RUNNING", "node01", "N/A", "N/A", "INVALID", "0", text, text, ""]
    records = parse_records(f"{nonce.join(fields)}\n", nonce)

    assert match_job(KEY, records) is None


def test_a_running_job_is_read_with_its_limit_and_marks() -> None:
    line = (
        "m|42|ada|20001|RUNNING|1-02:00:00|1-01:59:30|2026-11-21T22:00:00|jupyter|normal|(null)|"
        "dsportal-01|a | b"
    )

    (job,) = parse_running_jobs(line, "m")

    assert (job.limit_s, job.user_id, job.partition) == (26 * 3600, 20001, "jupyter")
    assert (job.left_s, job.ends_at) == (26 * 3600 - 30, "2026-11-21T22:00:00")
    assert (job.qos, job.account, job.comment) == ("normal", "", "a | b")


@pytest.mark.parametrize(
    "line",
    [
        "x|42|ada|20001|RUNNING|2:00:00|1:59:00|2026-11-21T22:00:00|jupyter|normal|a|dsportal-01|c",
        "m|42|ada|20001|PENDING|2:00:00|2:00:00|N/A|jupyter|normal|a|dsportal-01|c",
        "m|42|ada|20001|RUNNING|soon|1:59:00|2026-11-21T22:00:00|jupyter|normal|a|dsportal-01|c",
        "",
    ],
)
def test_lines_of_another_form_are_no_running_job(line: str) -> None:
    assert list(parse_running_jobs(line, "m")) == []
