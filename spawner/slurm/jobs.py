"""Jobs of Slurm as typed values."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from signal import SIGKILL

from dsportal.slurm.states import JobState

# Prefix of the names of sessions' jobs.
NAME_PREFIX = "dsportal-"
# Of the jobs of their kernels that have GPUs of their own; the id of the session's job follows.
KERNEL_PREFIX = "kernel-of-"
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


def session_of_kernel(name: str) -> int:
    """Return the id of the session's job whose kernel a job of this name runs; 0 for other jobs."""
    job_id = name.removeprefix(KERNEL_PREFIX)
    # At most ten digits; the name is a text of the user's.
    is_kernel = name.startswith(KERNEL_PREFIX) and job_id.isdecimal() and len(job_id) <= 10
    return int(job_id) if is_kernel else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKey:
    """Identifies a session's job: after a crash Slurm can reuse an id, so that alone is not enough.

    Attributes:
        user: Not compared: Slurm prints "nobody" while the name service is away.
        name: Holds the session's random id.
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


def match_job(key: JobKey, records: Iterable[JobRecord]) -> JobRecord | None:
    """Return the record of this very job, or None if only another job has its id."""
    return next((record for record in records if record.key == key), None)


def parse_exit_code(text: str) -> tuple[int | None, int]:
    """Return exit status and signal in Slurm's "7:0"; the status is None if it is not known.

    Source:
        sacct(1) and scontrol(1), ExitCode, Slurm 22.05 to 25.11.
    """
    code, _, signal = text.partition(":")
    return (int(code) if code.isdecimal() else None, int(signal) if signal.isdecimal() else 0)


def known_text(text: str) -> str:
    """Return a field of Slurm's output; empty for Slurm's words for "not known"."""
    return "" if text.strip() in {"n/a", "N/A", "(null)", "None", "Unknown"} else text.strip()
