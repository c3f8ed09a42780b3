"""Slurm's states and reasons as sentences, the same that the portal's pages show for a session."""

from dataclasses import replace

from dsportal import diagnosis
from dsportal.amounts import format_duration
from dsportal.diagnosis.limit import find_limit, parse_limit
from dsportal.diagnosis.limit_reasons import explain_limit
from dsportal.diagnosis.messages import RUN, Situation
from dsportal.diagnosis.pending import normalize_reason
from dsportal.launch.layout import Layout
from dsportal.slurm.states import JobState, parse_state

_RUN = Situation(subject=RUN)
# Of the reasons that are no limits of accounts, those that only another request ends.
_NEVER_STARTS = {"PartitionTimeLimit", "MaxMemPerLimit", "BadConstraints"}


def explain_waiting(
    reason: str, state: str = JobState.PENDING.name, n_gpus: int | None = None
) -> str:
    """Return why a run waits, and the next step; an unknown reason is quoted.

    Args:
        reason: What squeue prints as reason (%r): a word such as "Resources", or a sentence.
        state: The job's state, squeue's long name.
    """
    situation = replace(_RUN, n_gpus=n_gpus)
    return str(diagnosis.explain_waiting(reason, situation, state=parse_state(state)))


def explain_never(reason: str, shape: Layout, walltime_s: int) -> str | None:
    """Return why a run that Slurm has queued will never start, and the next step.

    Args:
        reason: What squeue prints as reason (%r).
    """
    word = normalize_reason(reason)
    limit = parse_limit(word)
    if limit is not None and (limit.is_minimum or limit.per in {"job", "node"}):
        situation = replace(_RUN, n_gpus=shape.n_ranks)
        why = str(explain_limit(limit, situation, is_refused=True))
    elif word in _NEVER_STARTS:
        why = explain_waiting(word, n_gpus=shape.n_ranks)
    else:
        return None
    asked = f"You asked for {shape.words} for {format_duration(walltime_s)}."
    return f"{asked} {why} Slurm calls the limit {word}."


def explain_end(state: str, node: str = "") -> str:
    """Return why a run's job ended, if the run itself did not say, and the next step.

    Args:
        state: The job's last state, the long name of squeue and sacct.
    """
    return str(diagnosis.explain_end(parse_state(state), node=node, situation=_RUN))


def explain_going_on(job_id: int) -> str:
    """Return what to do about a cancelled job of which Slurm does not say that it has ended."""
    return (
        f"Slurm does not say yet that job {job_id} has ended. If 'squeue --me' still lists it in a "
        f"minute, run 'scancel {job_id}' in a terminal."
    )


def explain_rejection(stderr: str, n_tasks: int = 1) -> str:
    """Return why sbatch refused a run, and the next step; unknown text is quoted.

    Args:
        n_tasks: Tasks of the array, each of which counts as a job.
    """
    why = str(diagnosis.explain_rejection(stderr, _RUN))
    limit = find_limit(stderr)
    if n_tasks > 1 and limit is not None and limit.resource in {"job", "submitjob"}:
        return f"{why} Each of the {n_tasks} points counts as a job: fewer may fit."
    return why
