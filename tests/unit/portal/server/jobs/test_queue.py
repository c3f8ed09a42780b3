"""Where a job writes, as scontrol says it."""

from pathlib import Path

import pytest

from portal.server.jobs.queue import parse_output_path

JOB = "JobId=164 JobName=sample WorkDir=/home/ada StdErr=/home/ada/x.err StdIn=/dev/null "


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
