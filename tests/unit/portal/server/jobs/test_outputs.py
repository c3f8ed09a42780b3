"""Where jobs wrote that Slurm has forgotten."""

import json
from pathlib import Path

import pytest

from portal.server.jobs.outputs import (
    MOST_REMEMBERED,
    RECORD_PATH,
    OutputPaths,
    existing_file,
    likely_paths,
    submitted_scripts,
)

HOME = Path("/home/ada")


def paths(job_id: str, line: str, name: str = "train") -> list[str]:
    text = f"{job_id}|/home/ada/jobs|{line}|{name}\n"
    return [str(path) for path in likely_paths(text, "|", job_id, HOME, "ada")]


@pytest.mark.parametrize(
    ("job_id", "line", "path"),
    [
        ("12", "sbatch a.job", "/home/ada/jobs/slurm-12.out"),
        ("12_3", "sbatch --array=1-3 a.job", "/home/ada/jobs/slurm-12_3.out"),
        ("12", "sbatch --output=%x-%j.txt a.job", "/home/ada/jobs/train-12.txt"),
        ("12", "sbatch -o '/tmp/my %u.txt' a.job", "/tmp/my ada.txt"),
        ("12_3", "sbatch --output %A/%4a.txt a.job", "/home/ada/jobs/12/0003.txt"),
        ("12", "sbatch 'a", "/home/ada/jobs/slurm-12.out"),
    ],
)
def test_the_command_tells_where_a_job_wrote(job_id: str, line: str, path: str) -> None:
    assert paths(job_id, line)[0] == path


def test_the_script_tells_where_a_job_wrote(tmp_path: Path) -> None:
    (tmp_path / "a.job").write_text("#!/bin/bash\n#SBATCH --output=said-%j.out\nhostname\n")
    row = f"12|{tmp_path}|sbatch --parsable a.job 3|train\n"

    assert next(likely_paths(row, "|", "12", HOME, "ada")) == tmp_path / "said-12.out"


def test_the_command_tells_which_script_was_submitted(tmp_path: Path) -> None:
    script = tmp_path / "my a.job"
    script.touch()
    row = f"12|{tmp_path}|sbatch -p gpu --parsable 'my a.job' 3|train\n"

    assert existing_file(submitted_scripts(row, "|", "12")) == script
    assert existing_file(submitted_scripts(row, "|", "13")) is None


def test_a_run_writes_into_its_folder() -> None:
    run = "20261120-203845-train-k3v9"

    assert paths("12", "sbatch --parsable", run)[-1] == f"/home/ada/portal-runs/{run}/job.log"


def test_a_name_leads_to_no_other_folder() -> None:
    found = paths("12", "sbatch --output=%x.txt a.job", "../../etc/passwd")

    assert found == ["/home/ada/jobs/.._.._etc_passwd.txt"]


def test_the_file_that_is_there_is_taken(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "b.out").touch()
    candidates = (tmp_path / name for name in ("folder", "absent", "b.out"))

    assert existing_file(candidates) == tmp_path / "b.out"
    assert existing_file(iter(())) is None


def test_a_later_session_knows_where_a_job_wrote(tmp_path: Path) -> None:
    OutputPaths(tmp_path).remember("12", Path("/a.out"))

    assert OutputPaths(tmp_path).get("12") == Path("/a.out")
    assert OutputPaths(tmp_path).get("13") is None


def test_the_oldest_jobs_are_forgotten(tmp_path: Path) -> None:
    many = {str(n): "/a.out" for n in range(MOST_REMEMBERED)}
    record = tmp_path / RECORD_PATH
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps(many))
    outputs = OutputPaths(tmp_path)

    outputs.remember("new", Path("/b.out"))

    assert (outputs.get("0"), outputs.get("1"), outputs.get("new")) == (
        None,
        Path("/a.out"),
        Path("/b.out"),
    )


@pytest.mark.parametrize("record", ["", "[]", "{"])
def test_a_broken_record_is_begun_again(tmp_path: Path, record: str) -> None:
    path = tmp_path / RECORD_PATH
    path.parent.mkdir(parents=True)
    path.write_text(record)

    OutputPaths(tmp_path).remember("12", Path("/a.out"))

    assert json.loads(path.read_text()) == {"12": "/a.out"}


def test_a_home_that_cannot_be_written_is_no_error() -> None:
    outputs = OutputPaths(Path("/proc"))

    outputs.remember("12", Path("/a.out"))

    assert outputs.get("12") == Path("/a.out")
