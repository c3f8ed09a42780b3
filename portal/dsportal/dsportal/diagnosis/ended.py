"""Why a job ended, from its last state, exit code, signal and Slurm's reason."""

import re
import signal as signals

from dsportal.amounts import format_duration
from dsportal.diagnosis.limit import parse_limit_sentence
from dsportal.diagnosis.messages import (
    SESSION,
    UNKNOWN_SITUATION,
    Diagnosis,
    Situation,
    Words,
    diagnose,
    quote,
)
from dsportal.diagnosis.pending import normalize_reason
from dsportal.slurm.states import JobState

_AGAIN = "{new}. If it happens again, ask the administrators."
_LOG = "Read the end of the log, or show it to the administrators."
_WHEN_NEEDED = "{when_needed}"

# {node} is " on node01" or empty, {code} the exit code, {signal} the name of the signal.
END_STATES: dict[JobState, Words] = {
    JobState.COMPLETED: ("The {session} ended.", _WHEN_NEEDED),
    JobState.TIMEOUT: ("The {session} reached its time limit{limit}.", _WHEN_NEEDED),
    # Slurm says NodeDown, too, if the node does not know the user, or the partition is gone.
    JobState.NODE_FAIL: (
        "The node{of_node} failed, or no longer served the {session}.",
        _AGAIN,
    ),
    JobState.OUT_OF_MEMORY: (
        "The {session} used more memory than it had{memory}.",
        "{new} with {more_memory}, or load less data at a time.",
    ),
    JobState.PREEMPTED: (
        "A job of higher priority took the resources of the {session}.",
        "{new}. It waits until resources are free.",
    ),
    JobState.BOOT_FAIL: ("The node{of_node} could not be powered up for the {session}.", _AGAIN),
    JobState.DEADLINE: (
        "The {session} could not end before its deadline.",
        "{new} without a deadline.",
    ),
    JobState.REVOKED: (
        "Another cluster of the federation took over the job.",
        "Ask the administrators: it should have stayed on this cluster.",
    ),
    JobState.CANCELLED: ("The {session} was cancelled.", _WHEN_NEEDED),
    JobState.FAILED: ("The {session} failed{node}.", _LOG),
    JobState.COMPLETING: (
        "The {session} ended and its node{of_node} is cleaning up.",
        _WHEN_NEEDED,
    ),
    JobState.STAGE_OUT: ("The {session} ended and its files are being copied back.", _WHEN_NEEDED),
}

CANCELLED_BY: dict[str, Words] = {
    "user": ("The {session} was cancelled under your own name.", _WHEN_NEEDED),
    "hub": (
        "The portal ended the {session}.",
        "{new}. Ask the administrators if you did not expect this.",
    ),
    "administrator": (
        "An administrator cancelled the {session}.",
        "Ask the administrators why before you {start}.",
    ),
    "uid": ("The user with uid {uid} cancelled the {session}.", _WHEN_NEEDED),
    "other": (
        "Somebody else (uid {uid}) cancelled the {session}.",
        "Ask the administrators why before you {start}.",
    ),
}

# Source: POSIX shell, 2.8.2 Exit Status for Commands: 126 not executable, 127 not found, over
# 128 ended by a signal. 53 is the signal that Slurm writes if it cannot open a job's files.
EXIT_CODES: dict[int, Words] = {
    126: (
        "The program of the {session} cannot be executed{node} (exit code 126).",
        "Tell the administrators that the server environment is not readable on that node.",
    ),
    127: (
        "The program of the {session} was not found{node} (exit code 127).",
        "Tell the administrators that the server environment is missing on that node.",
    ),
}
SIGNALS: dict[str, Words] = {
    "SIGKILL": (
        "The {session} was killed{node}, often because it ran out of memory.",
        "{new}. If it ran out of memory, ask for {more_memory}.",
    ),
    "SIGTERM": ("The {session} was told to stop{node} and did.", _WHEN_NEEDED),
    "SIGINT": ("The {session} was interrupted{node}.", _WHEN_NEEDED),
    "SIGSEGV": ("The program of the {session} crashed{node} (SIGSEGV).", _LOG),
    "SIGBUS": (
        "The program of the {session} crashed{node} (SIGBUS): disk or memory is full.",
        _LOG,
    ),
    "SIGXFSZ": (
        "The {session} wrote a larger file than allowed{node}.",
        "Free some of your disk space, then {start}.",
    ),
}
# Slurm measures now and then, so what fills the memory within seconds may not have been seen.
NEARLY_ALL = 0.9
KILLED_FULL: Words = (
    "The {session} was killed{node}, most likely because it ran out of memory: {used} were in use.",
    "{new} with {more_memory}.",
)
KILLED_WITH_ROOM: Words = (
    "The {session} was killed{node}, probably not for its memory: at most {used} were seen in use.",
    "{new}. If nobody killed it on purpose and it happens again, ask the administrators.",
)
OTHER_EXIT_CODE: Words = ("The {session} ended with an error{node} (exit code {code}).", _LOG)
OTHER_SIGNAL: Words = ("The {session} was ended{node} by the signal {signal}.", _LOG)
_FILES_SIGNAL = 53
FILES: Words = (
    "Slurm could not open the {session}'s log or folder{node}.",
    "Check that your home folder exists and has space, then {start}.",
)

# sacct prints the last reason that kept a job waiting, so words for waiting are not among these.
END_REASONS: dict[str, Words] = {
    "JobLaunchFailure": ("The {session} could not be started on its node{of_node}.", _AGAIN),
    "launch failed": ("The {session} could not be started on its node{of_node}.", _AGAIN),
    "SystemFailure": ("Slurm or a part of the cluster failed.", _AGAIN),
    "NodeDown": (
        "The node{of_node} went down.",
        "{new}. Slurm places it on another node.",
    ),
    "InactiveLimit": ("Slurm stopped the {session} because it was idle.", _WHEN_NEEDED),
    "TimeLimit": END_STATES[JobState.TIMEOUT],
    "OutOfMemory": END_STATES[JobState.OUT_OF_MEMORY],
    "DeadLine": END_STATES[JobState.DEADLINE],
    "BurstBufferOperation": (
        "The fast storage (burst buffer) failed for this {session}.",
        "Ask the administrators.",
    ),
    "BadConstraints": (
        "No node of the cluster has what the {session} asked for.",
        "{again|fewer_gpus|no_type}.",
    ),
    "reservation ended": (
        "The reservation that the {session} used has ended.",
        "{new} without a reservation.",
    ),
}
BUDGET: Words = (
    "The time budget of your account or its quality of service (QOS) is used up.",
    "Ask the administrators when the budget is renewed, or for a larger one.",
)
UNKNOWN_STATE: Words = ("Slurm says that the {session} is in the state {state}.", _AGAIN)
UNKNOWN_END: Words = (
    "Slurm no longer knows the {session}'s job or how it ended.",
    _AGAIN,
)

_RAISED_SIGNAL = re.compile(r"RaisedSignal:\s*(?P<number>[0-9]{1,3})")


def explain_end(
    state: JobState,
    *,
    exit_code: int | None = None,
    signal: int | None = None,
    reason: str = "",
    cancelled_by_uid: int | None = None,
    node: str = "",
    situation: Situation = UNKNOWN_SITUATION,
) -> Diagnosis:
    """Return why a session's job ended.

    Args:
        exit_code: Exit status of the script, 0..255, or None if it is not known.
        signal: Signal that ended the script; 0 or None for none.
        cancelled_by_uid: Who cancelled it; None if Slurm does not say.
        node: Node of the job; empty if it had none.

    Source:
        squeue(1) and sacct(1), JOB STATE CODES, and job_exit_code.html, Slurm 22.05 to 25.11.
    """
    raised = _RAISED_SIGNAL.match(reason)
    if raised is not None and not signal:
        signal = int(raised["number"])
    parts = _parts(node, situation, exit_code)
    if state is JobState.CANCELLED:
        return _explain_cancelled(cancelled_by_uid, situation, reason, parts)
    if state is JobState.FAILED:
        return _explain_failed(exit_code, signal or 0, reason, parts, situation)
    if state is JobState.TIMEOUT:
        # Slurm also ends a job as TIMEOUT when a budget is used up; only the reason tells.
        return diagnose(_words_of_reason(reason) or END_STATES[state], parts, situation)
    if state in END_STATES:
        return diagnose(END_STATES[state], parts, situation)
    if state is JobState.UNKNOWN:
        return diagnose(UNKNOWN_END, parts, situation)
    return diagnose(UNKNOWN_STATE, {"state": quote(state.name)}, situation)


def _explain_cancelled(
    uid: int | None, situation: Situation, reason: str, parts: dict[str, str]
) -> Diagnosis:
    if uid is None:
        words = _words_of_reason(reason) or END_STATES[JobState.CANCELLED]
        return diagnose(words, parts, situation)
    # The portal stops a job as its user, so this comes first if both are the same account.
    if uid == situation.user_uid:
        who = "user"
    elif uid == situation.hub_uid:
        who = "hub"
    elif uid == 0:
        who = "administrator"
    else:
        who = "uid" if situation.user_uid is None else "other"
    return diagnose(CANCELLED_BY[who], {"uid": str(uid)}, situation)


def _explain_failed(
    exit_code: int | None, signal: int, reason: str, parts: dict[str, str], situation: Situation
) -> Diagnosis:
    # A shell reports a child that a signal ended as 128 plus the signal's number.
    if not signal and exit_code and _name_of_signal(exit_code - 128):
        signal = exit_code - 128
    if signal == _FILES_SIGNAL:
        return diagnose(FILES, parts, situation)
    # Slurm says JobLaunchFailure also for a script that a signal ended, so the signal goes first.
    if signal:
        name = _name_of_signal(signal) or str(signal)
        words = SIGNALS.get(name, OTHER_SIGNAL)
        if name == "SIGKILL" and "used" in parts:
            is_full = (situation.memory_share or 0.0) >= NEARLY_ALL
            words = KILLED_FULL if is_full else KILLED_WITH_ROOM
        return diagnose(words, {**parts, "signal": name}, situation)
    if exit_code:
        sentence, next_step = EXIT_CODES.get(exit_code, OTHER_EXIT_CODE)
        # Only the program of a session is the portal's; others are the user's.
        is_session = situation.subject is SESSION
        return diagnose((sentence, next_step if is_session else _LOG), parts, situation)
    return diagnose(_words_of_reason(reason) or END_STATES[JobState.FAILED], parts, situation)


def _words_of_reason(reason: str) -> Words | None:
    text = normalize_reason(reason)
    if parse_limit_sentence(text):
        return BUDGET
    if text in END_REASONS:
        return END_REASONS[text]
    if "launch fail" in text.lower():
        return END_REASONS["launch failed"]
    if text.startswith("Reservation ") and text.endswith("has ended"):
        return END_REASONS["reservation ended"]
    return None


def _name_of_signal(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return ""


def _parts(node: str, situation: Situation, exit_code: int | None) -> dict[str, str]:
    shown_node = quote(node, n_characters=64).strip('"') if node else ""
    walltime_s, memory_mib = situation.walltime_s, situation.memory_mib
    used: dict[str, str] = {}
    if memory_mib and situation.memory_share is not None:
        memory_gib = memory_mib / 1024
        used["used"] = f"{situation.memory_share * memory_gib:.1f} of {memory_gib:.3g} GB"
    return {
        **used,
        "node": f" on {shown_node}" if shown_node else "",
        "of_node": f" {shown_node}" if shown_node else "",
        "code": str(exit_code),
        "limit": f" of {format_duration(walltime_s)}" if walltime_s else "",
        "memory": f", which is {memory_mib / 1024:g} GB" if memory_mib else "",
    }
