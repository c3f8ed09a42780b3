"""The next run of a job that runs again and again: each run queues it before it does its work."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dsportal.errors import LaunchError
from dsportal.launch import commands
from dsportal.launch.commands import ENDED, read_rows
from dsportal.launch.messages import explain_rejection
from dsportal.slurm.again import Again, find_mark, read_mark
from dsportal.slurm.listing import PARSABLE_JOB_ID, Squeue
from dsportal.slurm.no_answer import is_no_answer
from dsportal.slurm.states import parse_cancelled_by

# In the environment of a run: the job of the one before.
BEFORE = "PORTAL_AGAIN_AFTER"
COMMENTS = Squeue("k")
_NO_ANSWER = "Slurm is not responding."


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """The run after this one.

    Attributes:
        script: The job's own script, which the next one has, too.
        job_id: This job.
        before: The job of the run before; empty for none.
        environ: Of this job as it began.
    """

    script: Path
    again: Again
    job_id: str
    before: str
    environ: Mapping[str, str]

    @classmethod
    def read(cls, script: Path, environ: Mapping[str, str]) -> Successor:
        """Return that of a job whose `script` says when it runs again.

        Raises:
            LaunchError: If it does not.
        """
        again = find_mark(script.read_text(encoding="utf-8", errors="surrogateescape"))
        if again is None:
            raise LaunchError(f"{script} does not say when it runs again. Make it again: job new.")
        job_id, before = environ["SLURM_JOB_ID"], environ.get(BEFORE, "")
        return cls(script=script, again=again, job_id=job_id, before=before, environ=dict(environ))

    def is_unwanted(self) -> bool:
        """Return whether the user has cancelled the run before; not if nobody says so."""
        if not self.before:
            return False
        rows = read_rows("sacct", ENDED, f"--jobs={self.before}", environ=self.environ) or []
        return any(parse_cancelled_by(state) == os.getuid() for _, state in rows)

    def queue(self, now: datetime) -> str:
        """Queue the next run, unless it waits already; return why it was not, or "".

        Args:
            now: Local time without a zone.
        """
        waiting = ("--me", "--states=PENDING")
        rows = read_rows("squeue", COMMENTS, *waiting, environ=self.environ)
        if rows is None:
            return _NO_ANSWER
        marks = (read_mark(comment) for (comment,) in rows)
        if any(mark is not None and mark.series == self.again.series for mark in marks):
            return ""
        # Never two at once, however long this one takes.
        after = f"--dependency=afterany:{self.job_id}"
        begin = f"--begin={self.again.after(now):%Y-%m-%dT%H:%M:%S}"
        argv = ["sbatch", "--parsable", begin, after, str(self.script)]
        done = commands.ask_slurm(argv, environ={**self.environ, BEFORE: self.job_id})
        if done is None or (done.returncode and is_no_answer(done.stderr)):
            return _NO_ANSWER
        if done.returncode or not PARSABLE_JOB_ID.search(done.stdout):
            return explain_rejection(done.stderr)
        return ""
