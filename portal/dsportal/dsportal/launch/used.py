"""What a run used of what it held, asked of Slurm's accounting."""

import os

from dsportal.launch.commands import ask_slurm
from dsportal.slurm.listing import new_nonce
from dsportal.slurm.used import USED, parse_uses


def read_used(job_id: int | None, *, step_name: str = "") -> str:
    """Return what a job used, in sentences; "" if Slurm has measured nothing.

    Args:
        job_id: The job; None for that of the session.
        step_name: Of a run in the session: only its steps count.
    """
    job = str(job_id or os.environ.get("SLURM_JOB_ID", ""))
    nonce = new_nonce()
    done = ask_slurm(["sacct", *USED.options_with_steps(nonce), f"--jobs={job}"]) if job else None
    text = done.stdout if done is not None and done.returncode == 0 else ""
    use = parse_uses(text, nonce, step_name=step_name).get(job)
    return use.sentences if use is not None else ""
