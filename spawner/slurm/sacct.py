"""What sacct prints: how jobs ended, and the GPUs that they held, from when to when."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from dsportal.slurm.jobstats import parse_jobstats
from dsportal.slurm.listing import Sacct
from dsportal.slurm.states import JobState, parse_cancelled_by, parse_state
from dsportal.slurm.units import parse_time_left
from spawner.slurm.jobs import (
    NAME_PREFIX,
    JobEnd,
    JobKey,
    known_text,
    parse_exit_code,
    session_of_kernel,
)

ENDS = Sacct(
    ("JobIDRaw", "User", "State", "ExitCode", "NodeList", "Timelimit", "JobName", "Reason")
)
_FIELDS = ("Start", "End", "AllocTRES", "State", "AdminComment", "JobName")
ALLOCATIONS = Sacct(("JobIDRaw", *_FIELDS))
# Those of everybody, with their owners.
OWNED_ALLOCATIONS = Sacct(("JobIDRaw", "User", "Group", "Account", "TotalCPU", *_FIELDS))
_N_GPUS = re.compile(r"(?:^|,)gres/gpu=([0-9]+)(?=,|$)")
_N_TYPED_GPUS = re.compile(r"(?:^|,)gres/gpu:[^=,]+=([0-9]+)(?=,|$)")
_N_CORES = re.compile(r"(?:^|,)cpu=([0-9]+)(?=,|$)")
_CPU = re.compile(r"(?:(?:([0-9]+)-)?([0-9]+):)?([0-9]+):([0-9]+(?:\.[0-9]+)?)")
_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The GPUs of one job, and how long it held them.

    Attributes:
        starts_at: Slurm's local time without a zone.
        ends_at: None while it runs.
        n_gpus: GPUs; 0 only for a session.
        state: How it ended, if it has.
        is_session: Whether it is a session of a portal.
        is_kernel: Whether it is a kernel of one, in a job of its own.
        n_cores: Cores.
        cpu_s: Seconds of CPU that it used, of all cores; None while it runs, and if not known.
        gpu_percent: Use of its GPUs on average, 0 to 100; None if nothing measured it.
        job_id: Runs of a job that was requeued have it together.
    """

    starts_at: datetime
    ends_at: datetime | None
    n_gpus: int
    state: JobState = JobState.UNKNOWN
    is_session: bool = False
    is_kernel: bool = False
    job_id: int = 0
    n_cores: int = 0
    cpu_s: float | None = None
    gpu_percent: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose a job is.

    Attributes:
        group: UNIX group that the job ran with.
        account: Account of Slurm that it is charged to.
    """

    user: str
    group: str
    account: str


def parse_ends(text: str, nonce: str) -> dict[JobKey, JobEnd]:
    """Return the last known state of each job in the output of sacct.

    Jobs that accounting believes to be waiting or running are included.

    Args:
        text: Lines of `ENDS`; others are skipped.

    Source:
        sacct(1), --parsable2 and --delimiter, Slurm 22.05 to 25.11.
    """
    ends = {}
    for fields in ENDS.rows(text, nonce):
        if not fields[0].isdecimal():
            continue
        exit_code, signal = parse_exit_code(fields[3])
        key = JobKey(job_id=int(fields[0]), user=fields[1], name=fields[6])
        ends[key] = JobEnd(
            state=parse_state(fields[2]),
            exit_code=exit_code,
            signal=signal,
            # sacct's text for a job without a node.
            node=known_text(fields[4].removeprefix("None assigned")),
            reason=fields[7],
            cancelled_by_uid=parse_cancelled_by(fields[2]),
            time_limit_s=parse_time_left(fields[5]),
        )
    return ends


def parse_allocations(text: str, nonce: str) -> list[Allocation]:
    """Return the allocations in the output of sacct.

    Args:
        text: Lines of `ALLOCATIONS`. Jobs that have not started, those that hold no GPU and are no
            session, and other lines are skipped.

    Source:
        sacct(1), AllocTRES, Slurm 22.05 to 25.11. A job is listed as
        "gres/gpu=2", as "gres/gpu:v100=2", or as both, by AccountingStorageTRES.
    """
    rows = (_read(*row) for row in ALLOCATIONS.rows(text, nonce))
    return [allocation for allocation in rows if allocation is not None]


def parse_owned_allocations(text: str, nonce: str) -> list[tuple[Owner, Allocation]]:
    """Return the allocations in the output of sacct with their owners.

    `text` has lines of `OWNED_ALLOCATIONS`; else as `parse_allocations`.

    Source:
        As for `parse_allocations`.
    """
    found = []
    for job_id, user, group, account, cpu, *fields in OWNED_ALLOCATIONS.rows(text, nonce):
        allocation = _read(job_id, *fields)
        if allocation is not None:
            cpu_s = None if allocation.ends_at is None else _parse_cpu(cpu)
            owner = Owner(user=user, group=group, account=account)
            found.append((owner, replace(allocation, cpu_s=cpu_s)))
    return found


def _read(
    job_id: str, start: str, end: str, tres: str, state: str, comment: str, name: str
) -> Allocation | None:
    starts_at, n_gpus = _parse_time(start), _parse_gpus(tres)
    is_session = name.startswith(NAME_PREFIX)
    if not job_id.isdecimal() or starts_at is None or not (n_gpus or is_session):
        return None
    summary = parse_jobstats(comment)
    return Allocation(
        starts_at=starts_at,
        ends_at=_parse_time(end),
        n_gpus=n_gpus,
        state=parse_state(state),
        is_session=is_session,
        is_kernel=session_of_kernel(name) != 0,
        job_id=int(job_id),
        n_cores=int(cores[1]) if (cores := _N_CORES.search(tres)) else 0,
        gpu_percent=None if summary is None else summary.mean_percent,
    )


def gpu_hours(allocations: Iterable[Allocation], *, since: datetime, until: datetime) -> float:
    """Return the GPU hours, hours times GPUs, that fall between two moments.

    Args:
        allocations: All that may overlap.
        since: In the time zone of the allocations.
        until: Running jobs count up to it.
    """
    held_s = sum(_overlap_s(one, since, until) * one.n_gpus for one in allocations)
    return held_s / _SECONDS_PER_HOUR


def gpu_hours_used(
    allocations: Iterable[Allocation], *, since: datetime, until: datetime
) -> tuple[float, float]:
    """Return the GPU hours of jobs whose GPUs were measured, and those of them that were used.

    Arguments as for `gpu_hours`. What a job used is spread evenly over its time.
    """
    measured_h = used_h = 0.0
    for one in allocations:
        if one.gpu_percent is not None:
            held_h = gpu_hours((one,), since=since, until=until)
            measured_h += held_h
            used_h += held_h * one.gpu_percent / 100
    return measured_h, used_h


def core_hours(
    allocations: Iterable[Allocation], *, since: datetime, until: datetime
) -> tuple[float, float]:
    """Return the core hours that ended jobs held between two moments, and those that they used.

    Arguments as for `gpu_hours`. What a job used is spread evenly over its time.
    """
    held_s = used_s = 0.0
    for allocation in allocations:
        if allocation.ends_at is None or allocation.cpu_s is None or not allocation.n_cores:
            continue
        whole_s = (allocation.ends_at - allocation.starts_at).total_seconds()
        overlap_s = _overlap_s(allocation, since, until)
        held_s += overlap_s * allocation.n_cores
        used_s += allocation.cpu_s * (overlap_s / whole_s if whole_s else 0.0)
    return held_s / _SECONDS_PER_HOUR, used_s / _SECONDS_PER_HOUR


def _overlap_s(allocation: Allocation, since: datetime, until: datetime) -> float:
    ends_at = min(allocation.ends_at or until, until)
    return max(0.0, (ends_at - max(allocation.starts_at, since)).total_seconds())


def _parse_cpu(text: str) -> float | None:
    """Return seconds of CPU.

    Source:
        sacct(1), TotalCPU, Slurm 22.05: [DD-[hh:]]mm:ss.mss; 0 if steps are left out.
    """
    match = _CPU.fullmatch(text.strip())
    if match is None:
        return None
    days, hours, minutes = (int(part or 0) for part in match.groups()[:3])
    return ((days * 24 + hours) * 60 + minutes) * 60 + float(match[4])


def _parse_gpus(tres: str) -> int:
    total = _N_GPUS.search(tres)
    # The total includes the typed ones: the sum of both would count each GPU twice.
    if total is not None:
        return int(total[1])
    return sum(int(number) for number in _N_TYPED_GPUS.findall(tres))


def _parse_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
