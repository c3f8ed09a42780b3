"""Jobs as Slurm's commands print them: the requested formats and their parsers, side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from signal import SIGKILL

from dsportal.slurm.listing import LongSqueue, Sacct, Squeue
from dsportal.slurm.states import JobState, parse_cancelled_by, parse_state
from dsportal.slurm.units import parse_time_left

# Prefix of the names of sessions' jobs.
NAME_PREFIX = "dsportal-"

RECORDS = LongSqueue(
    (
        "JobID",
        "UserName",
        "State",
        "BatchHost",
        "StartTime",
        "EndTime",
        "TimeLeft",
        "RestartCnt",
        "Name",
        "Comment",
        "Reason",
    )
)
# User and reason of a job.
REASONS = Squeue("ur")
ENDS = Sacct(
    ("JobIDRaw", "User", "State", "ExitCode", "NodeList", "Timelimit", "JobName", "Reason")
)

# Reasons for which a job waits although GPUs for it may be free, or not for GPUs at all.
_OWN_REASONS = (
    "Dependency",
    "BeginTime",
    "JobHeld",
    "JobArrayTaskLimit",
    "QOS",
    "Assoc",
    "MaxMem",
    "MaxWall",
    "Licenses",
    "PartitionTimeLimit",
    "PartitionNodeLimit",
    "PartitionDown",
    "PartitionInactive",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "DependencyNeverSatisfied",
)

_SCONTROL_FIELD = re.compile(
    r"(?:^|\s)(JobId|JobName|UserId|JobState|Reason|ExitCode|TimeLimit|BatchHost)="
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKey:
    """Identifies a session's job: after a crash Slurm can reuse an id, so that alone is not enough.

    Attributes:
        user: Not compared: Slurm prints "nobody" while the name service is away.
        name: Holds the session's random mark.
    """

    job_id: int
    user: str = field(compare=False)
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingJob:
    """A pending job.

    Attributes:
        reason: Slurm's word for why it waits.
    """

    user: str
    reason: str

    @property
    def waits_for_resources(self) -> bool:
        """Whether GPUs, cores or memory of other jobs could let it start."""
        return not self.reason.startswith(_OWN_REASONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job as squeue shows it.

    Attributes:
        node: Name of its first node; empty while it waits.
        starts_at: When it started or is expected to, in Slurm's local time as
            "2026-11-20T20:33:00"; empty if Slurm does not know.
        reason: Why it waits, in Slurm's word; "None" for a running job.
        ends_at: When its time is over, written as `starts_at`; empty if Slurm does not know.
        left_s: Seconds until then, by Slurm's own count at that moment; None if it has no
            limit or Slurm does not say. It differs at each query, so it does not count as a change.
        n_restarts: How often Slurm has put it back into the queue.
    """

    key: JobKey
    state: JobState
    node: str
    starts_at: str
    comment: str
    reason: str
    ends_at: str = ""
    left_s: int | None = field(default=None, compare=False)
    n_restarts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How a job ended.

    Attributes:
        state: Last state; UNKNOWN if Slurm has forgotten the job.
        exit_code: Exit status of its script, 0..255, or None if it is not known.
        signal: Signal that ended its script; 0 for none.
        node: Name of its first node; empty if it had none.
        reason: Slurm's word for why; may be empty.
        cancelled_by_uid: Who cancelled it; None if Slurm does not say.
        time_limit_s: Its time limit in seconds when it ended, which an administrator may have
            changed; None if it had none or Slurm does not say.
        memory_share: Largest part of its memory that was measured in use, 0 to 1; None if that is
            not known or has not been asked for.
    """

    state: JobState
    exit_code: int | None = None
    signal: int = 0
    node: str = ""
    reason: str = ""
    cancelled_by_uid: int | None = None
    time_limit_s: int | None = None
    memory_share: float | None = None

    @property
    def is_killed(self) -> bool:
        """Whether SIGKILL ended it, as the system does when memory is full, and anybody may."""
        # A shell reports a child that a signal ended as 128 plus the signal's number.
        killed = self.signal or (self.exit_code or 0) - 128
        return self.state is JobState.FAILED and killed == SIGKILL


def parse_squeue(text: str, mark: str) -> list[JobRecord]:
    """Return the jobs in the output of squeue.

    Args:
        text: Lines of `RECORDS`; others are skipped.
        mark: Separates the fields.

    Source:
        squeue(1), --Format, Slurm 22.05 to 25.11.
    """
    return [
        JobRecord(
            key=JobKey(job_id=int(row[0]), user=row[1], name=row[8]),
            state=parse_state(row[2]),
            node=_known(row[3]),
            starts_at=_known(row[4]),
            ends_at=_known(row[5]),
            left_s=parse_time_left(row[6]),
            n_restarts=int(row[7]),
            comment=_known(row[9]),
            reason=row[10],
        )
        for row in RECORDS.rows(text, mark)
        if row[0].isdecimal() and row[7].isdecimal()
    ]


def parse_waiting(text: str, mark: str) -> tuple[WaitingJob, ...]:
    """Return the pending jobs in the output of squeue.

    Args:
        text: Lines of `REASONS`; others are skipped.
        mark: Prefix of the lines that Slurm itself wrote.

    Source:
        squeue(1), --format, Slurm 22.05 to 25.11.
    """
    return tuple(WaitingJob(user=user, reason=reason) for user, reason in REASONS.rows(text, mark))


def parse_sacct(text: str, mark: str) -> dict[JobKey, JobEnd]:
    """Return the last known state of each job in the output of sacct.

    Jobs that accounting believes to be waiting or running are included.

    Args:
        text: Lines of `ENDS`; others are skipped.
        mark: Separates the fields.

    Source:
        sacct(1), --parsable2 and --delimiter, Slurm 22.05 to 25.11.
    """
    ends = {}
    for fields in ENDS.rows(text, mark):
        if not fields[0].isdecimal():
            continue
        exit_code, signal = _parse_exit_code(fields[3])
        key = JobKey(job_id=int(fields[0]), user=fields[1], name=fields[6])
        ends[key] = JobEnd(
            state=parse_state(fields[2]),
            exit_code=exit_code,
            signal=signal,
            # sacct's text for a job without a node.
            node=_known(fields[4].removeprefix("None assigned")),
            reason=fields[7],
            cancelled_by_uid=parse_cancelled_by(fields[2]),
            time_limit_s=parse_time_left(fields[5]),
        )
    return ends


def parse_scontrol_job(text: str) -> dict[JobKey, JobEnd]:
    """Return the job in the output of "scontrol --oneliner show job".

    Args:
        text: One line of NAME=value; a job name with spaces is read whole.

    Returns:
        The job with its state; empty if the text holds no job.

    Source:
        scontrol(1), show job, Slurm 22.05 to 25.11.
    """
    ends = {}
    for line in text.splitlines():
        parts = _SCONTROL_FIELD.split(line)
        # A later field of the same name would come from free text such as Comment.
        fields: dict[str, str] = {}
        for name, value in zip(parts[1::2], parts[2::2], strict=True):
            fields.setdefault(name, value)
        if not fields.get("JobId", "").split(" ", 1)[0].isdecimal():
            continue
        first_words = {name: (value.split() or [""])[0] for name, value in fields.items()}
        exit_code, signal = _parse_exit_code(first_words.get("ExitCode", ""))
        key = JobKey(
            job_id=int(first_words["JobId"]),
            user=first_words.get("UserId", "").partition("(")[0],
            name=fields.get("JobName", "").strip(),
        )
        ends[key] = JobEnd(
            state=parse_state(first_words.get("JobState", "")),
            exit_code=exit_code,
            signal=signal,
            node=_known(first_words.get("BatchHost", "")),
            reason=first_words.get("Reason", ""),
            time_limit_s=parse_time_left(first_words.get("TimeLimit", "")),
        )
    return ends


def match_job(key: JobKey, records: Iterable[JobRecord]) -> JobRecord | None:
    """Return the record of this very job, or None if only another job has its id."""
    return next((record for record in records if record.key == key), None)


def _parse_exit_code(text: str) -> tuple[int | None, int]:
    code, _, signal = text.partition(":")
    return (int(code) if code.isdecimal() else None, int(signal) if signal.isdecimal() else 0)


def _known(text: str) -> str:
    return "" if text.strip() in {"n/a", "N/A", "(null)", "None", "Unknown"} else text.strip()
