"""What Slurm says of the tasks of arrays."""

from collections.abc import Sequence

from dsportal.launch.commands import JobState, ask_slurm, read_rows
from dsportal.slurm.arrays import parse_max_array_size, tasks_of
from dsportal.slurm.listing import Sacct, Squeue, job_options

# Number of a task in its array, its state and reason.
TASKS = Squeue("KTr")
ENDED_TASKS = Sacct(("JobID", "State"))


def task_states(job_ids: Sequence[int]) -> dict[int, JobState] | None:
    """Return the states of arrays' tasks that wait or run, or None without an answer.

    Args:
        job_ids: Arrays of which each task waits or runs in one at most.

    Source:
        squeue(1), --array and %K, Slurm 22.05.
    """
    if not job_ids:
        return {}
    rows = read_rows("squeue", TASKS, *job_options(job_ids), "--array")
    if rows is None:
        return None
    return {
        int(task): JobState(state=state, reason=reason)
        for task, state, reason in rows
        if task.isdecimal()
    }


def task_ends(job_ids: Sequence[int]) -> dict[int, str]:
    """Return the last states of arrays' tasks in accounting; none where a site keeps none.

    Args:
        job_ids: Arrays, the newest last, which counts if several have had a task.
    """
    if not job_ids:
        return {}
    found = read_rows("sacct", ENDED_TASKS, *job_options(job_ids)) or []
    rows = sorted(found, key=lambda row: int(row[0].partition("_")[0]))
    # sacct writes "CANCELLED by 1000".
    return {n: state.partition(" ")[0] for job_id, state in rows for n in tasks_of(job_id)}


def max_array_size() -> int | None:
    """Return how many tasks an array may have; None if Slurm does not say."""
    done = ask_slurm(["scontrol", "show", "config"])
    return parse_max_array_size(done.stdout) if done is not None and not done.returncode else None
