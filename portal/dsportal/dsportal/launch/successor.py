"""The next run of a job that runs again and again: each run queues it before it does its work."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dsportal.errors import LaunchError
from dsportal.launch.commands import ask_slurm
from dsportal.launch.messages import explain_rejection
from dsportal.slurm.again import Again, find_mark, read_mark
from dsportal.slurm.listing import PARSABLE_JOB_ID, Sacct, Squeue, new_nonce
from dsportal.slurm.no_answer import is_no_answer
from dsportal.slurm.states import parse_cancelled_by

# In the environment of a run: the job of the one before.
BEFORE = "PORTAL_AGAIN_AFTER"
COMMENTS = Squeue("k")
ENDED = Sacct(("JobIDRaw", "State"))
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
        nonce = new_nonce()
        argv = ["sacct", *ENDED.options(nonce), f"--jobs={self.before}"]
        done = ask_slurm(argv, environ=self.environ)
        rows = ENDED.rows("" if done is None or done.returncode else done.stdout, nonce)
        _, state = next(rows, ["", ""])
        return parse_cancelled_by(state) == os.getuid()

    def queue(self, now: datetime) -> str:
        """Queue the next run, unless it waits already; return why it was not, or "".

        Args:
            now: Local time without a zone.
        """
        nonce = new_nonce()
        argv = ["squeue", *COMMENTS.options(nonce), "--me", "--states=PENDING"]
        done = ask_slurm(argv, environ=self.environ)
        if done is None or done.returncode:
            return _NO_ANSWER
        marks = (read_mark(comment) for (comment,) in COMMENTS.rows(done.stdout, nonce))
        if any(mark is not None and mark.series == self.again.series for mark in marks):
            return ""
        # Never two at once, however long this one takes.
        after = f"--dependency=afterany:{self.job_id}"
        begin = f"--begin={self.again.after(now):%Y-%m-%dT%H:%M:%S}"
        argv = ["sbatch", "--parsable", begin, after, str(self.script)]
        done = ask_slurm(argv, environ={**self.environ, BEFORE: self.job_id})
        if done is None or (done.returncode and is_no_answer(done.stderr)):
            return _NO_ANSWER
        if done.returncode or not PARSABLE_JOB_ID.search(done.stdout):
            return explain_rejection(done.stderr)
        return ""
