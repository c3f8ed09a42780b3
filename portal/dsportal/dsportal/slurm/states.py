"""The states of a Slurm job, and what each means for a session."""

import re
from enum import Enum


class Phase(Enum):
    """What a job's state means for the session that it carries.

    UNKNOWN says that nothing is known. It never means that the job is over.
    """

    WAITING = "waiting"
    RUNNING = "running"
    OVER = "over"
    UNKNOWN = "unknown"


class JobState(Enum):
    """Every state and state flag that Slurm 22.05 to 25.11 names.

    The value is Slurm's short code if it has one, else the long name again.

    Source:
        squeue(1), JOB STATE CODES; sacct(1), JOB STATE CODES; slurm.h, enum job_states and the
        flags after it, which --json prints beside the state.
    """

    PENDING = "PD"
    RUNNING = "R"
    SUSPENDED = "S"
    COMPLETED = "CD"
    CANCELLED = "CA"
    FAILED = "F"
    TIMEOUT = "TO"
    NODE_FAIL = "NF"
    PREEMPTED = "PR"
    BOOT_FAIL = "BF"
    DEADLINE = "DL"
    OUT_OF_MEMORY = "OOM"
    COMPLETING = "CG"
    STAGE_OUT = "SO"
    CONFIGURING = "CF"
    RESIZING = "RS"
    REQUEUED = "RQ"
    REQUEUE_FED = "RF"
    REQUEUE_HOLD = "RH"
    SPECIAL_EXIT = "SE"
    STOPPED = "ST"
    REVOKED = "RV"
    RESV_DEL_HOLD = "RD"
    SIGNALING = "SI"
    POWER_UP_NODE = "POWER_UP_NODE"
    LAUNCH_FAILED = "LAUNCH_FAILED"
    RECONFIG_FAIL = "RECONFIG_FAIL"
    UPDATE_DB = "UPDATE_DB"
    EXPEDITING = "EXPEDITING"
    UNKNOWN = "UNKNOWN"

    @property
    def phase(self) -> Phase:
        """Meaning of this state for the session.

        CONFIGURING and POWER_UP_NODE wait: the nodes are allocated but still booting, so nothing of
        the user runs. SUSPENDED and STOPPED run: processes are stopped but keep their node, and
        continue later. RESIZING and SIGNALING run. COMPLETING and STAGE_OUT are over: the server's
        processes have ended and only Slurm's cleanup is left. REQUEUED, REQUEUE_FED,
        REQUEUE_HOLD, SPECIAL_EXIT and RESV_DEL_HOLD wait: the job is in the queue again, perhaps
        until somebody releases it; so does EXPEDITING (25.11), which is put at the head of the
        queue once its node is known to have failed. REVOKED is over on this cluster: another
        cluster of a federation took the job. Flags that only accompany a state (LAUNCH_FAILED,
        RECONFIG_FAIL, UPDATE_DB) say nothing alone and are UNKNOWN.
        """
        return _PHASES.get(self, Phase.UNKNOWN)


_PHASES = {
    state: phase
    for phase, states in {
        Phase.WAITING: (
            JobState.PENDING,
            JobState.CONFIGURING,
            JobState.POWER_UP_NODE,
            JobState.EXPEDITING,
            JobState.REQUEUED,
            JobState.REQUEUE_FED,
            JobState.REQUEUE_HOLD,
            JobState.SPECIAL_EXIT,
            JobState.RESV_DEL_HOLD,
        ),
        Phase.RUNNING: (
            JobState.RUNNING,
            JobState.SUSPENDED,
            JobState.STOPPED,
            JobState.RESIZING,
            JobState.SIGNALING,
        ),
        Phase.OVER: (
            JobState.COMPLETED,
            JobState.CANCELLED,
            JobState.FAILED,
            JobState.TIMEOUT,
            JobState.NODE_FAIL,
            JobState.PREEMPTED,
            JobState.BOOT_FAIL,
            JobState.DEADLINE,
            JobState.OUT_OF_MEMORY,
            JobState.COMPLETING,
            JobState.STAGE_OUT,
            JobState.REVOKED,
        ),
    }.items()
    for state in states
}

_BY_TEXT = {text: state for state in JobState for text in (state.name, state.value)}


_CANCELLED_BY = re.compile(r"CANCELLED by ([0-9]{1,10})", re.IGNORECASE)


def parse_state(text: str) -> JobState:
    """Return the state that a Slurm command printed.

    Args:
        text: A long or short name; sacct's "CANCELLED by 20001"; a name that sacct cut short,
            which then ends in "+" ("OUT_OF_ME+").

    Returns:
        UNKNOWN for any other text, since a state that this release of the portal does not know
        must not end a session.

    Source:
        squeue(1) and sacct(1), Slurm 22.05 to 25.11. sacct shortens to the width of a column.
    """
    words = text.split(maxsplit=1)
    if not words:
        return JobState.UNKNOWN
    word = words[0].upper()
    # Before the cut names: a whole name can be the beginning of another one.
    if word in _BY_TEXT:
        return _BY_TEXT[word]
    if not word.endswith("+"):
        return JobState.UNKNOWN
    stem = word.rstrip("+")
    if stem in _BY_TEXT:
        return _BY_TEXT[stem]
    matches = [state for state in JobState if len(stem) > 1 and state.name.startswith(stem)]
    return matches[0] if len(matches) == 1 else JobState.UNKNOWN


def parse_cancelled_by(text: str) -> int | None:
    """Return the uid in a state such as sacct's "CANCELLED by 20001"; None if it names nobody.

    Source:
        sacct(1), State, Slurm 22.05 to 25.11.
    """
    match = _CANCELLED_BY.match(text.strip())
    return int(match[1]) if match else None
