"""Whether a job is still in Slurm's queue."""

import subprocess


def is_queued(job_id: str) -> bool:
    """Return whether a job waits, runs or ends; also if Slurm does not answer."""
    done = subprocess.run(
        ["squeue", "--noheader", f"--jobs={job_id}", "--states=PENDING,RUNNING,COMPLETING"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        # slurmctld forgets jobs some minutes after their end.
        return "Invalid job id" not in done.stderr
    return bool(done.stdout.strip())
