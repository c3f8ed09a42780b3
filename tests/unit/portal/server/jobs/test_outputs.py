"""Where jobs wrote that Slurm has forgotten."""

from pathlib import Path

import pytest

from portal.server.jobs.outputs import (
    existing_file,
    likely_paths,
    parse_output_path,
    submitted_scripts,
)

HOME = Path("/home/ada")
JOB = "JobId=164 JobName=sample WorkDir=/home/ada StdErr=/home/ada/x.err StdIn=/dev/null "


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


@pytest.mark.parametrize(
    "end",
    [
        # Slurm 22.05.
        " Power= ",
        "",
        # Slurm 24.11 without and with GPUs.
        " ",
        " TresPerNode=gres/gpu:2 TresPerTask=cpu=16",
    ],
)
@pytest.mark.parametrize("path", ["/home/ada/sample-164.out", "/home/ada/my job.out"])
def test_the_file_of_a_job_ends_before_what_follows(path: str, end: str) -> None:
    assert parse_output_path(f"{JOB}StdOut={path}{end}\n") == Path(path)


def test_a_job_without_a_file_has_none() -> None:
    assert parse_output_path("JobId=7 StdOut=(null) Power=\n") is None
