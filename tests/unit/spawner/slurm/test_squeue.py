"""What squeue prints about jobs."""

from pathlib import Path

import pytest

from dsportal.slurm.listing import new_nonce
from dsportal.slurm.states import JobState, Phase
from spawner.slurm.jobs import JobKey, match_job
from spawner.slurm.squeue import parse_cluster_jobs, parse_records, parse_running_jobs

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


N = "m1"
GOLDEN = Path(__file__).parents[1] / "golden" / "slurm-22.05" / "squeue-cluster.txt"


def printed(*lines: str, name: str = "train") -> str:
    """Return what squeue prints of jobs, given with blanks between their fields."""
    return "".join(f"{N.join([*line.split(maxsplit=8), name])}\n" for line in lines)


def test_a_capture_of_squeue_gives_running_and_waiting_jobs_with_all_their_gpus() -> None:
    jobs = parse_cluster_jobs(printed(*GOLDEN.read_text().splitlines()), N)

    assert [
        (job.job_id, job.user, job.phase, job.n_nodes, job.n_gpus, job.left_s, job.reason)
        for job in jobs
    ] == [
        (30, "grace", Phase.WAITING, 2, 8, 300, "Resources"),
        (31, "grace", Phase.WAITING, 1, 4, 300, "BeginTime"),
        (32, "grace", Phase.WAITING, 1, 3, 300, "Dependency"),
        (29, "ada", Phase.RUNNING, 2, 4, 117, "None"),
    ]
    assert {job.partitions for job in jobs} == {("jupyter",)}
    assert [job.starts_at for job in jobs if job.job_id in {29, 32}] == ["", "2026-11-23T06:37:22"]


def test_a_job_may_wait_in_several_partitions_for_a_reason_of_several_words() -> None:
    line = "7 ada PD long,short 1 N/A UNLIMITED cpu=8 Nodes required for job are DOWN"
    (job,) = parse_cluster_jobs(printed(line), N)

    assert (job.partitions, job.left_s, job.n_gpus) == (("long", "short"), None, 0)
    assert job.reason == "Nodes required for job are DOWN"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "slurm_load_jobs error: Unable to contact slurm controller",
        "7 ada PD long 1 N/A UNLIMITED cpu=8 None",
        printed("x ada PD long 1 N/A 5:00 cpu=8 None"),
        printed("7 ada PD long some N/A 5:00 cpu=8 None"),
    ],
)
def test_other_lines_are_skipped(line: str) -> None:
    assert parse_cluster_jobs(line, N) == ()


@pytest.mark.parametrize(
    ("name", "session_job_id"),
    [
        ("kernel-of-77", 77),
        ("kernel-of-", 0),
        ("kernel-of-7a", 0),
        ("kernel-of-99999999999", 0),
        ("77", 0),
        ("train | x", 0),
    ],
)
def test_a_job_of_a_kernel_tells_its_session(name: str, session_job_id: int) -> None:
    line = "7 ada R long 1 N/A 5:00 gres/gpu=2 None"
    (job,) = parse_cluster_jobs(printed(line, name=name), N)

    assert (job.session_job_id, job.n_gpus) == (session_job_id, 2)


def test_a_name_cannot_add_a_kernel_to_somebody_elses_session() -> None:
    line = "7 mallory R long 1 N/A 5:00 gres/gpu=2 None"
    forged = "x\n8|ada|R|long|1|N/A|5:00|gres/gpu=2|None|kernel-of-77"
    jobs = parse_cluster_jobs(printed(line, name=forged), N)

    assert [(job.user, job.session_job_id) for job in jobs] == [("mallory", 0)]


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
