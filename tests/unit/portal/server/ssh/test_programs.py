"""Which programs end with the session."""

from pathlib import Path

from portal.server.ssh.programs import end_programs, find_programs


def process(proc: Path, pid: int, *variables: str) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "environ").write_bytes("\0".join([*variables, ""]).encode())


def test_only_programs_of_the_jobs_own_logins_are_found(tmp_path: Path) -> None:
    process(tmp_path, 11, "SSH_CONNECTION=UNKNOWN 65535 UNKNOWN 65535", "SLURM_JOB_ID=7")
    # A kernel of the session; what was submitted from a login; a login of another session.
    process(tmp_path, 12, "SLURM_JOB_ID=7")
    process(tmp_path, 13, "SSH_CONNECTION=UNKNOWN 65535 UNKNOWN 65535", "SLURM_JOB_ID=71")
    process(tmp_path, 14, "SSH_CONNECTION=10.0.0.1 1 10.0.0.2 22")
    # Another user's, which cannot be read.
    (tmp_path / "15").mkdir()

    assert list(find_programs("7", tmp_path)) == [11]


def test_outside_of_a_job_nothing_is_ended(tmp_path: Path) -> None:
    process(tmp_path, 2**22 + 1, "SSH_CONNECTION=a", "SLURM_JOB_ID=")

    end_programs("", tmp_path)


def test_a_program_that_has_just_ended_does_not_matter(tmp_path: Path) -> None:
    # No process has this id: it is beyond the largest that the kernel gives.
    process(tmp_path, 2**22 + 1, "SSH_CONNECTION=a", "SLURM_JOB_ID=7")

    end_programs("7", tmp_path)
