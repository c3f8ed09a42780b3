"""Parsers for the user's jobs in the output of squeue and sacct."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spawner.diagnosis import Situation, explain_end, explain_waiting
from spawner.diagnosis.messages import JOB, SESSION, Subject
from spawner.slurm.jobs import NAME_PREFIX
from spawner.slurm.listing import Sacct, Squeue
from spawner.slurm.states import JobState, Phase, parse_cancelled_by, parse_state

# Id, state, partition, time used, time limit, nodes, cores, GPUs, reason and name of a job.
QUEUED = Squeue("iTPMlDCbrj")
# The same fields in the same order, so that one function reads both; the exit code is the reason.
ENDED = Sacct(
    (
        *("JobID", "State", "Partition", "Elapsed", "Timelimit", "AllocNodes", "AllocCPUS"),
        *("ReqTRES", "ExitCode", "JobName"),
    )
)
# 12, a task 12_3, a component 12+1 of a heterogeneous job, waiting tasks 12_[1-5%2].
_JOB_ID = re.compile(r"[0-9]+(?:_[0-9]+|\+[0-9]+|_\[[0-9,%-]{1,200}\])?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob:
    """One job of the user.

    Attributes:
        id: Slurm's job id, of an array with the task: 12_3.
        state: Slurm's word, such as RUNNING.
        is_over: Whether it ended; its output grows no more.
        is_session: Whether it carries a session of the portal.
        elapsed: Time that it has run, as Slurm writes it.
        limit: Its time limit, as Slurm writes it.
        gpus: Generic resources of each node, as Slurm writes them, or "".
        reason: Why it waits or did not end well, and the next step, in words; "" for neither.
    """

    id: str
    name: str
    state: str
    is_over: bool
    is_session: bool
    partition: str
    elapsed: str
    limit: str
    n_nodes: str
    n_cores: str
    gpus: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        """Return the job as JSON values."""
        return asdict(self)


def is_job_id(text: str) -> bool:
    """Return whether `text` is a job id, so that it cannot be read as a command's option.

    True for 12, 12_3, 12+1, and 12_[1-5] (an array whose tasks still wait).
    """
    return _JOB_ID.fullmatch(text) is not None


def parse_queue(text: str, mark: str) -> list[SlurmJob]:
    """Return the queued and running jobs in the output of squeue.

    Args:
        text: Lines of `QUEUED`; others are skipped.
        mark: Prefix of the lines that Slurm itself wrote.
    """
    return [
        _job(fields, is_over=False, reason=_why_it_waits(fields))
        for fields in QUEUED.rows(text, mark)
    ]


def parse_accounting(text: str, mark: str, *, user_uid: int | None = None) -> list[SlurmJob]:
    """Return the ended jobs in the output of sacct, newest first.

    Args:
        text: Lines of `ENDED`; others are skipped.
        mark: Separates the fields.
        user_uid: The user's uid, to tell whose cancellation it was.
    """
    jobs = [
        _job(fields, is_over=True, reason=_why_it_ended(fields, user_uid))
        for fields in ENDED.rows(text, mark)
        if fields[1] not in {"PENDING", "RUNNING", "SUSPENDED", "REQUEUED"}
    ]
    # sacct prints the oldest first.
    return jobs[::-1]


def _why_it_waits(fields: Sequence[str]) -> str:
    state = parse_state(fields[1])
    if state.phase is not Phase.WAITING:
        return ""
    situation = Situation(subject=_subject(fields), partition=fields[2])
    return str(explain_waiting(fields[8], situation, state=state))


def _why_it_ended(fields: Sequence[str], user_uid: int | None) -> str:
    state = parse_state(fields[1])
    if state in {JobState.COMPLETED, JobState.COMPLETING}:
        return ""
    # 7:0 or 0:9, the exit status and the signal.
    exit_code, _, signal = fields[8].partition(":")
    diagnosis = explain_end(
        state,
        exit_code=int(exit_code) if exit_code.isdecimal() else None,
        signal=int(signal) if signal.isdecimal() else None,
        cancelled_by_uid=parse_cancelled_by(fields[1]),
        situation=Situation(subject=_subject(fields), user_uid=user_uid),
    )
    return str(diagnosis)


def _subject(fields: Sequence[str]) -> Subject:
    return SESSION if fields[9].startswith(NAME_PREFIX) else JOB


def _job(fields: list[str], *, is_over: bool, reason: str) -> SlurmJob:
    gpus = re.search(r"gres[/:]gpu[^,]*", fields[7])
    return SlurmJob(
        id=fields[0],
        # sacct writes "CANCELLED by 1000".
        state=fields[1].partition(" ")[0],
        is_over=is_over,
        is_session=fields[9].startswith(NAME_PREFIX),
        partition=fields[2],
        elapsed=fields[3],
        limit=fields[4],
        n_nodes=fields[5],
        n_cores=fields[6],
        # squeue writes gres/gpu:2 or gres:gpu:2, sacct gres/gpu=2.
        gpus=gpus[0][5:].replace("=", ":") if gpus else "",
        reason=reason,
        name=fields[9],
    )
