"""What squeue prints: the fields of each question, and their parsers, side by side."""

from collections.abc import Iterator
from dataclasses import dataclass

from dsportal.slurm.errors import OptionsError
from dsportal.slurm.listing import LongSqueue, Squeue
from dsportal.slurm.states import parse_state
from dsportal.slurm.units import parse_time_left, parse_time_limit, parse_uid
from spawner.slurm.jobs import (
    NAME_PREFIX,
    JobKey,
    JobRecord,
    WaitingJob,
    known_text,
)
from spawner.slurm.tres import gpus_in_tres

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
# Id, priority, partitions, reason and name of a job.
# Q is the integer priority; p would be a fraction of 1.
QUEUE = Squeue("AQPrj")
# Jobs that could not start now even at the head of the queue.
_OUT_OF_LINE = frozenset({
    "BeginTime",
    "Dependency",
    "DependencyNeverSatisfied",
    "JobHeldAdmin",
    "JobHeldUser",
})  # fmt: skip
# Id, user, uid, state, time limit, time left, end, partition, QOS, account, name and comment.
LIMITS = Squeue("AuUTlLePqajk")
# Slurm allows no blank in these fields, so the padding of squeue separates them.
GPUS_IN_USE_ARGV = (
    *("squeue", "--noheader", "--all", "--states=RUNNING,SUSPENDED"),
    # squeue cuts what is wider without a word.
    "--Format=UserName:64,Account:64,QOS:64,tres-alloc:256",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A pending job.

    Attributes:
        job_id: Slurm's job id; for tasks of an array that of the array.
        priority: Slurm's priority; higher starts earlier.
        partitions: Partitions that it may run in.
        is_session: Whether it is a session of a portal.
    """

    job_id: int
    priority: int
    partitions: tuple[str, ...]
    is_session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A running job with its time limit.

    Attributes:
        user_id: The user's uid.
        limit_s: Time limit in seconds, or None for no limit.
        left_s: Seconds until the limit is reached; 0 if Slurm does not say.
        ends_at: End of the job, as squeue writes it.
        qos: Quality of service; may be empty.
        account: Slurm account; may be empty.
    """

    key: JobKey
    user_id: int
    limit_s: int | None
    left_s: int
    ends_at: str
    partition: str
    qos: str
    account: str
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpusInUse:
    """The GPUs of one running job."""

    user: str
    account: str
    qos: str
    n_gpus: int


def parse_records(text: str, nonce: str, *, prefix: str = "") -> list[JobRecord]:
    """Return the jobs in the output of squeue whose names begin so.

    Args:
        text: Lines of `RECORDS`; others are skipped.

    Source:
        squeue(1), --Format, Slurm 22.05 to 25.11.
    """
    return [
        JobRecord(
            key=JobKey(job_id=int(row[0]), user=row[1], name=row[8]),
            state=parse_state(row[2]),
            node=known_text(row[3]),
            starts_at=known_text(row[4]),
            ends_at=known_text(row[5]),
            left_s=parse_time_left(row[6]),
            n_restarts=int(row[7]),
            comment=known_text(row[9]),
            reason=row[10],
        )
        # The jobs of a large cluster are thousands, and hardly any is a session's.
        for row in RECORDS.rows(text, nonce, holding=nonce + prefix)
        if row[8].startswith(prefix) and row[0].isdecimal() and row[7].isdecimal()
    ]


def parse_waiting(text: str, nonce: str) -> tuple[WaitingJob, ...]:
    """Return the pending jobs in the output of squeue.

    Args:
        text: Lines of `REASONS`; others are skipped.

    Source:
        squeue(1), --format, Slurm 22.05 to 25.11.
    """
    return tuple(WaitingJob(user=user, reason=reason) for user, reason in REASONS.rows(text, nonce))


def parse_queue(text: str, nonce: str) -> list[QueuedJob]:
    """Return the jobs that compete for a start.

    Held jobs and those that wait for a time or another job are left out.

    Args:
        text: Lines of `QUEUE`; others are skipped.

    Source:
        squeue(1), --format, Slurm 22.05 to 25.11.
    """
    return [
        QueuedJob(
            job_id=int(job_id),
            priority=int(priority),
            partitions=tuple(partitions.split(",")),
            is_session=name.startswith(NAME_PREFIX),
        )
        for job_id, priority, partitions, reason, name in QUEUE.rows(text, nonce)
        # Held jobs have the priority 0.
        if job_id.isdecimal() and priority.isdecimal() and priority != "0"
        if reason not in _OUT_OF_LINE
    ]


def parse_running_jobs(text: str, nonce: str) -> Iterator[RunningJob]:
    """Yield the running jobs in the output of squeue.

    Args:
        text: Lines of `LIMITS`; others are skipped.

    Source:
        squeue(1), --format, Slurm 22.05 to 25.11.
    """
    for row in LIMITS.rows(text, nonce):
        job = _running_job(row)
        if job is not None:
            yield job


def _running_job(row: list[str]) -> RunningJob | None:
    job_id, user, user_id, state, limit, left, ends_at, *others, name, comment = row
    partition, qos, account = others
    if state != "RUNNING":
        return None
    try:
        return RunningJob(
            key=JobKey(job_id=int(job_id), user=user, name=name),
            user_id=parse_uid(user_id),
            limit_s=parse_time_limit(limit),
            left_s=parse_time_left(left) or 0,
            ends_at=ends_at,
            partition=partition,
            # squeue prints "(null)" for a job without one.
            qos=qos if qos != "(null)" else "",
            account=account if account != "(null)" else "",
            comment=comment,
        )
    except (ValueError, OptionsError):
        return None


def parse_gpus_in_use(text: str) -> list[GpusInUse]:
    """Return the jobs with GPUs in the output of `GPUS_IN_USE_ARGV`; other lines are skipped.

    Source:
        squeue(1), --Format, Slurm 22.05 to 25.11.
    """
    jobs = []
    for line in text.splitlines():
        words = line.split()
        # With an empty column it is not known which word belongs where.
        if len(words) != 4:
            continue
        user, account, qos, tres = words
        n_gpus = gpus_in_tres(tres).get("", 0)
        if n_gpus:
            jobs.append(GpusInUse(user=user, account=account, qos=qos, n_gpus=n_gpus))
    return jobs
