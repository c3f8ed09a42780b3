"""All users' jobs, as squeue prints them."""

from pathlib import Path

import pytest

from dsportal.slurm.states import Phase
from spawner.slurm.cluster_jobs import ClusterJobs, parse_cluster_jobs

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


def test_of_a_cluster_there_are_numbers_and_of_a_user_the_own_jobs_those_that_wait_last() -> None:
    text = printed(
        "7 ada PD long,short 1 N/A 5:00 cpu=8 Resources",
        "8 ada R long 1 N/A 5:00 gres/gpu=2 None",
        "9 grace R long 1 N/A 5:00 cpu=8 None",
        "x grace R long 1 N/A 5:00 cpu=8 None",
    )
    jobs = ClusterJobs.parse(text, N)

    assert jobs.n_by_partition == {
        ("long", Phase.RUNNING): 2,
        ("long", Phase.WAITING): 1,
        ("short", Phase.WAITING): 1,
    }
    assert jobs.users == {"ada", "grace"}
    assert [job.job_id for job in jobs.of("ada", n_most=9)] == [8, 7]
    assert [job.job_id for job in jobs.of("ada", n_most=1)] == [8]
    assert [jobs.count(user) for user in ("ada", "grace", "linus")] == [2, 1, 0]
    assert jobs.of("linus", n_most=9) == ()


def test_kernels_are_those_of_the_users_own_jobs_that_are_named_so() -> None:
    line = "R long 1 N/A 5:00 gres/gpu=2 None"
    text = printed(f"7 ada {line}", f"8 mallory {line}", name="kernel-of-3")
    jobs = ClusterJobs.parse(text + printed(f"9 ada {line}"), N)

    assert [(job.job_id, job.session_job_id) for job in jobs.kernels_of("ada")] == [(7, 3)]


def test_other_peoples_jobs_stay_text_until_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        "spawner.slurm.cluster_jobs._read", lambda job_id, *_: read.append(job_id), raising=True
    )
    jobs = ClusterJobs.parse(printed(*GOLDEN.read_text().splitlines()), N)

    assert read == []
    jobs.of("ada", n_most=9)
    assert read == ["29"]
