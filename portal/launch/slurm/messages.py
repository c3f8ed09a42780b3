"""Slurm's states and reasons as sentences, the same that the portal's pages show for a session."""

from __future__ import annotations

from spawner import diagnosis
from spawner.diagnosis.messages import RUN, Situation
from spawner.slurm.states import JobState, parse_state

_RUN = Situation(subject=RUN)


def explain_waiting(reason: str, state: str = JobState.PENDING.name) -> str:
    """Return why a run waits, and the next step; an unknown reason is quoted.

    Args:
        reason: What squeue prints as reason (%r): a word such as "Resources", or a sentence.
        state: The job's state, squeue's long name.
    """
    return str(diagnosis.explain_waiting(reason, _RUN, state=parse_state(state)))


def explain_end(state: str, node: str = "") -> str:
    """Return why a run's job ended, if the run itself did not say, and the next step.

    Args:
        state: The job's last state, the long name of squeue and sacct.
        node: The node that it ran on, or empty.
    """
    return str(diagnosis.explain_end(parse_state(state), node=node, situation=_RUN))


def explain_rejection(stderr: str) -> str:
    """Return why sbatch refused a run, and the next step; unknown text is quoted.

    Args:
        stderr: What sbatch printed on standard error.
    """
    return str(diagnosis.explain_rejection(stderr, _RUN))
