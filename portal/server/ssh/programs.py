"""The programs that logins over ssh have started, which may have lost their parents."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")


def end_programs(job_id: str, proc: Path = _PROC) -> None:
    """Ask the programs that a session's logins have started to end; empty `job_id` for none.

    Slurm ends them with the job if it tracks processes by control group. If it follows parents
    (proctrack/linuxproc), a program whose sshd has ended would stay on the node.
    """
    if job_id:
        for pid in find_programs(job_id, proc):
            for number in (signal.SIGHUP, signal.SIGTERM):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)


def find_programs(job_id: str, proc: Path = _PROC) -> Iterator[int]:
    """Yield the ids of the user's processes that belong to a job and to a login over ssh."""
    for folder in proc.glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            # It has ended, or is another user's.
            continue
        is_of_job = f"SLURM_JOB_ID={job_id}".encode() in variables
        if is_of_job and any(one.startswith(b"SSH_CONNECTION=") for one in variables):
            yield int(folder.name)
