"""Why a job waits, from the reason that Slurm prints: a word or a sentence."""

import re

from dsportal.amounts import format_duration
from dsportal.diagnosis.limit import parse_limit, parse_limit_sentence
from dsportal.diagnosis.limit_reasons import explain_limit
from dsportal.diagnosis.messages import (
    UNKNOWN_SITUATION,
    Diagnosis,
    Situation,
    Words,
    diagnose,
    quote,
)
from dsportal.diagnosis.pending_reasons import WAITING_REASONS
from dsportal.slurm.states import JobState

# Slurm's commands do not agree on the case of a reason.
_BY_LOWER_CASE = {name.lower(): words for name, words in WAITING_REASONS.items()}
ALSO = {
    "": "None",
    "(null)": "None",
    "n/a": "None",
    "invalidreason": "None",
    "waitingforscheduling": "None",
}
_UNAVAILABLE_NODES = re.compile(r"UnavailableNodes:\s*(?P<nodes>[^\s,)]\S*)", re.IGNORECASE)
# The sentences that slurmctld writes in place of a word, and the row of the table for each.
# The first that matches counts, so those that say more come before the general ones.
SENTENCES = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        (r"Reserved for maintenance", "ReqNodeNotAvail, Reserved for maintenance"),
        (r"May be reserved", "ReqNodeNotAvail, May be reserved for other job"),
        (r"^ReqNodeNotAvail", "ReqNodeNotAvail"),
        (r"^Nodes required for job", "Nodes required"),
        (r"launch fail(ed|ure)", "held after launch failure"),
        (r"user env retrieval failed", "held after environment failure"),
        (r"requeued in (held|special exit) state", "requeued and held"),
        (r"not in group permitted", "not in group"),
        (r"^Reservation .* has ended", "reservation ended"),
        (r"^Reservation .* was deleted", "ReservationDeleted"),
        (r"^Reservation .* is invalid", "ReservationInvalid"),
        (r"^RaisedSignal:", "RaisedSignal"),
        (r"burst.?buffer|stage-(in|out)", "BurstBufferOperation"),
    )
)


UNKNOWN_REASON: Words = (
    "The {session} is waiting for a reason that Slurm calls {reason}.",
    "If it takes longer than you expect, show this to the administrators.",
)
# In these states the reason is left over from before, or "None".
WAITING_STATES: dict[JobState, Words] = {
    JobState.CONFIGURING: (
        "A node was found and is being powered up or set up.",
        "No action is needed: the {session} starts by itself, which can take some minutes.",
    ),
    JobState.POWER_UP_NODE: (
        "A node was found and is being powered up.",
        "No action is needed: the {session} starts by itself, which can take some minutes.",
    ),
    JobState.REQUEUED: (
        "The job's node failed or was taken away, so the job is back in the queue.",
        "No action is needed: the {session} starts by itself.",
    ),
    JobState.EXPEDITING: (
        "The job's node failed, so the job is back at the head of the queue.",
        "No action is needed: the {session} starts by itself.",
    ),
}


def explain_waiting(
    reason: str,
    situation: Situation = UNKNOWN_SITUATION,
    *,
    state: JobState = JobState.PENDING,
) -> Diagnosis:
    """Return why a session waits; an unknown reason is quoted, not guessed at.

    Args:
        reason: What squeue prints as reason (%r or %R) or scontrol as Reason: a word such as
            "QOSMaxGRESPerUser" or a sentence such as
            "ReqNodeNotAvail, UnavailableNodes:node01", with or without brackets around it.

    Source:
        job_reason_codes.html of Slurm 25.11; the sentences are those of slurmctld 22.05 to 25.11.
    """
    if state in WAITING_STATES:
        return diagnose(WAITING_STATES[state], situation=situation)
    text = normalize_reason(reason)
    limit = parse_limit(text) or parse_limit_sentence(text)
    if limit is not None:
        return explain_limit(limit, situation)
    name = _reason_name(text)
    if name is None:
        return diagnose(UNKNOWN_REASON, {"reason": quote(text)}, situation)
    return diagnose(_BY_LOWER_CASE[name.lower()], _parts(text, situation), situation)


def is_held(reason: str) -> bool:
    """Return whether a user may try to end what keeps a job waiting, with `scontrol release`."""
    name = _reason_name(normalize_reason(reason))
    return name is not None and "{release}" in _BY_LOWER_CASE[name.lower()][1]


def normalize_reason(reason: str) -> str:
    """Return the plain text of a reason such as "(Resources)" or "Nodes_required_for_job_are_DOWN".

    Source:
        squeue(1), %R, puts brackets around it; scontrol(1) writes underscores for spaces.
    """
    text = reason.strip()
    if text.startswith("(") and text.endswith(")") and text != "(null)":
        text = text[1:-1].strip()
    return text if " " in text else text.replace("_", " ")


def _reason_name(text: str) -> str | None:
    lower = text.lower()
    if lower in _BY_LOWER_CASE:
        return lower
    if lower in ALSO:
        return ALSO[lower]
    if _UNAVAILABLE_NODES.search(text):
        return "ReqNodeNotAvail, UnavailableNodes"
    return next((name for pattern, name in SENTENCES if pattern.search(text)), None)


def _parts(text: str, situation: Situation) -> dict[str, str]:
    """Return the texts for the names in braces in the table."""
    nodes = _UNAVAILABLE_NODES.search(text)
    partition = quote(situation.partition or "", n_characters=64).strip('"')
    asked, most = situation.walltime_s, situation.max_walltime_s
    return {
        "partition": f" {partition}" if partition else "",
        "nodes": quote(nodes["nodes"]).strip('"') if nodes else "",
        "rebooting": ", restarting" if "REBOOTING" in text else "",
        "asked_time": f" ({format_duration(asked)})" if asked else "",
        "most_time": f" ({format_duration(most)})" if most else "",
    }
