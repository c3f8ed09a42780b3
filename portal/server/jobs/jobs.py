"""Parsers for the user's jobs in the output of squeue and sacct."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from dsportal.diagnosis import Situation, explain_end, explain_waiting, is_held
from dsportal.diagnosis.messages import JOB, SESSION, Subject
from dsportal.slurm.again import read_mark
from dsportal.slurm.listing import Sacct, Squeue
from dsportal.slurm.states import JobState, Phase, parse_cancelled_by, parse_state
from portal.server.jobs.arrays import count_tasks, fold, newest
from portal.server.jobs.job import Action, SlurmJob
from portal.server.jobs.state_words import state_words
from portal.server.jobs.times import elapsed_words, limit_words, parse_time
from spawner.slurm.jobs import NAME_PREFIX

# Id, state, partition, time used, time limit, number of nodes, cores, GPUs of each node, start,
# reason, nodes, comment and name of a job. The start of one that waits is what Slurm expects.
QUEUED = Squeue("iTPMlDCbSrNkj")
# The same fields in the same order, so that one function reads both; of what has ended the end is
# the time, the exit code the reason, and the command that submitted it stands before the comment.
ENDED = Sacct(
    (
        *("JobID", "State", "Partition", "Elapsed", "Timelimit", "AllocNodes", "AllocCPUS"),
        *("ReqTRES", "End", "ExitCode", "NodeList", "SubmitLine", "Comment", "JobName"),
    )
)
# Ended jobs and arrays of one list.
N_ENDED = 50
# Of which accounting prints the state too, but squeue knows it better.
_NOT_OVER = frozenset({"PENDING", "RUNNING", "SUSPENDED", "REQUEUED"})
_OF_NEXT_RUN = {
    "BeginTime": "",
    "Dependency": "",
    "JobHeldUser": "It is paused. Resume it, or end it.",
}
# A word besides options is its script, or belongs to an option.
_WITH_SCRIPT = re.compile(r"\S*\bsbatch(?= ).* [^-\s]")
_GPUS = re.compile(r"gres[/:]gpu(?::(?P<type>[^,:=]+))?[:=](?P<n>[0-9]+)")
# 12, a task 12_3, a component 12+1 of a heterogeneous job, waiting tasks 12_[1-5%2].
_JOB_ID = re.compile(r"[0-9]+(?:_[0-9]+|\+[0-9]+|_\[[0-9,%-]{1,200}\])?", re.ASCII)


def is_job_id(text: str) -> bool:
    """Return whether `text` is a job id, so that it cannot be read as a command's option.

    True for 12, 12_3, 12+1, and 12_[1-5] (an array whose tasks still wait).
    """
    return _JOB_ID.fullmatch(text) is not None


def parse_queue(
    text: str, nonce: str, gpus: Mapping[str, tuple[int, str]] | None = None
) -> list[SlurmJob]:
    """Return the queued and running jobs in the output of squeue.

    Args:
        text: Lines of `QUEUED`; others are skipped.
        gpus: From `parse_gpus`: squeue knows those of each node alone.
    """
    jobs = []
    for fields in QUEUED.rows(text, nonce):
        held = (gpus or {}).get(fields[0]) or _gpus_of_nodes(fields)
        reason = _why_it_waits(fields, n_gpus=held[0])
        jobs.append(_job(fields, is_over=False, reason=reason, gpus=held))
    return jobs


def parse_lists(
    queued: str, accounted: Sequence[list[str]], nonce: str, *, user_uid: int | None = None
) -> list[SlurmJob]:
    """Return what waits and runs, of squeue, and then what has ended, of sacct; arrays folded.

    Args:
        queued: Lines of `QUEUED`; others are skipped.
        accounted: Rows of `ENDED`, of which sessions are left out.
        user_uid: The user's uid, to tell whose cancellation it was.
    """
    ids = {fields[0] for fields in QUEUED.rows(queued, nonce)}
    queue = parse_queue(queued, nonce, parse_gpus(accounted, ids))
    # A job that is just ending can be in both.
    ended = [fields for fields in _ended(accounted) if fields[0] not in ids]
    states = [(job.id, job.label) for job in queue]
    counts = count_tasks([*states, *((fields[0], state_words(fields[1])) for fields in ended)])
    shown = newest(ended, [fields[0] for fields in ended], counts, N_ENDED)
    return fold([*queue, *(_ended_job(fields, user_uid) for fields in shown)], counts)


def parse_gpus(rows: Sequence[list[str]], job_ids: Collection[str]) -> dict[str, tuple[int, str]]:
    """Return number and type of the GPUs of each of these jobs that has some, by its id.

    `rows` of `ENDED` are also of jobs that wait or run.
    """
    found = {fields[0]: _gpus(fields[7]) for fields in rows if fields[0] in job_ids}
    return {job_id: gpus for job_id, gpus in found.items() if gpus[0]}


def _ended(rows: Sequence[list[str]]) -> Iterator[list[str]]:
    for fields in rows:
        if fields[1] not in _NOT_OVER and not _is_session(fields):
            yield fields


def _ended_job(fields: list[str], user_uid: int | None) -> SlurmJob:
    reason = _why_it_ended(fields, user_uid)
    return _job(fields, is_over=True, reason=reason, gpus=_gpus(fields[7]))


def _why_it_waits(fields: Sequence[str], *, n_gpus: int) -> str:
    state = parse_state(fields[1])
    if state.phase is not Phase.WAITING:
        return ""
    # Of what runs again and again; when its next run is, is said anyway.
    if read_mark(fields[-2]) is not None and fields[9] in _OF_NEXT_RUN:
        return _OF_NEXT_RUN[fields[9]]
    situation = Situation(subject=_subject(fields), n_gpus=n_gpus, partition=fields[2])
    return str(explain_waiting(fields[9], situation, state=state))


def _why_it_ended(fields: Sequence[str], user_uid: int | None) -> str:
    state = parse_state(fields[1])
    if state in {JobState.COMPLETED, JobState.COMPLETING}:
        return ""
    # 7:0 or 0:9, the exit status and the signal.
    exit_code, _, signal = fields[9].partition(":")
    diagnosis = explain_end(
        state,
        exit_code=int(exit_code) if exit_code.isdecimal() else None,
        signal=int(signal) if signal.isdecimal() else None,
        cancelled_by_uid=parse_cancelled_by(fields[1]),
        situation=Situation(subject=_subject(fields), user_uid=user_uid),
    )
    return str(diagnosis)


def _subject(fields: Sequence[str]) -> Subject:
    return SESSION if _is_session(fields) else JOB


def _is_session(fields: Sequence[str]) -> bool:
    return fields[-1].startswith(NAME_PREFIX)


def _job(fields: list[str], *, is_over: bool, reason: str, gpus: tuple[int, str]) -> SlurmJob:
    # sacct writes "CANCELLED by 1000".
    word = fields[1].partition(" ")[0]
    state = parse_state(word)
    is_waiting = not is_over and state.phase is Phase.WAITING
    is_session = _is_session(fields)
    at = parse_time(fields[8])
    again = None if is_over else read_mark(fields[-2])
    return SlurmJob(
        id=fields[0],
        state=word,
        label=state_words(word),
        phase=_phase(state, is_over=is_over),
        is_over=is_over,
        is_session=is_session,
        partition=fields[2],
        elapsed="" if is_waiting else elapsed_words(fields[3]),
        limit=limit_words(fields[4]),
        n_nodes=fields[5],
        n_cores=fields[6],
        n_gpus=gpus[0],
        gpu_type=gpus[1],
        at_s=math.inf if is_waiting else at.timestamp() if at else 0.0,
        starts_at=at.isoformat() if is_waiting and at else "",
        nodes="" if is_waiting or is_over else fields[10],
        actions=() if is_over or is_session else _actions(state, fields[9]),
        has_script=is_over and _WITH_SCRIPT.match(fields[-3]) is not None,
        reason=reason,
        name=fields[-1],
        again="" if again is None else again.words,
        series="" if again is None else again.series,
    )


def _actions(state: JobState, reason: str) -> tuple[Action, ...]:
    if state.phase is Phase.WAITING:
        return (Action.RELEASE if is_held(reason) else Action.HOLD, Action.SHORTEN)
    return (Action.REQUEUE, Action.SHORTEN) if state is JobState.RUNNING else ()


def _phase(state: JobState, *, is_over: bool) -> str:
    if not is_over:
        return state.phase.value if state.phase in {Phase.WAITING, Phase.RUNNING} else ""
    return "completed" if state is JobState.COMPLETED else "failed"


def _gpus_of_nodes(fields: Sequence[str]) -> tuple[int, str]:
    of_each, gpu_type = _gpus(fields[7])
    return of_each * (int(fields[5]) if fields[5].isdecimal() else 1), gpu_type


def _gpus(tres: str) -> tuple[int, str]:
    """Return number and type of the GPUs in a text of trackable resources (TRES).

    Source:
        squeue(1), %b, writes gres/gpu:2 or gres:gpu:v100:2; sacct(1), ReqTRES, writes gres/gpu=2
        and, if the site accounts for types, gres/gpu:v100=2 beside it.
    """
    found = list(_GPUS.finditer(tres))
    typed = {match["type"] for match in found if match["type"]}
    plain = [int(match["n"]) for match in found if not match["type"]]
    n = plain[0] if plain else sum(int(match["n"]) for match in found)
    return n, typed.pop() if len(typed) == 1 else ""
