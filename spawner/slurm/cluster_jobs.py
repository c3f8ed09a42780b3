"""All jobs that run or wait on the cluster: squeue's format and its parser."""

from __future__ import annotations

from dataclasses import dataclass

from dsportal.slurm.states import Phase, parse_state
from dsportal.slurm.units import parse_time_left
from spawner.slurm.tres import gpus_in_tres

# No text of users', such as the job's name: Slurm allows no blank in the fields before the reason,
# so the padding of squeue separates them.
CLUSTER_JOBS_ARGV = (
    *("squeue", "--noheader", "--all", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED"),
    # squeue cuts what is wider without a word.
    "--Format=JobID:20,UserName:64,StateCompact:8,Partition:256,NumNodes:12,StartTime:24,"
    "TimeLeft:24,tres-alloc:256,Reason:256",
)
_N_FIELDS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJob:
    """One job that runs or waits.

    Attributes:
        job_id: Slurm's; the tasks of an array that wait have one together.
        phase: WAITING or RUNNING.
        partitions: Those that it may run in, or the one that it runs in.
        n_gpus: On all its nodes together.
        starts_at: When it started, or is expected to: Slurm's local time; empty if not known.
        left_s: Seconds until its limit; None if it has none.
        reason: Slurm's word for why it waits.
    """

    job_id: int
    user: str
    phase: Phase
    partitions: tuple[str, ...]
    n_nodes: int
    n_gpus: int
    starts_at: str
    left_s: int | None
    reason: str


def parse_cluster_jobs(text: str) -> tuple[ClusterJob, ...]:
    """Return the jobs in the output of `CLUSTER_JOBS_ARGV`; other lines are skipped.

    Source:
        squeue(1), --Format, Slurm 22.05 to 25.11. For a job that waits, tres-alloc is what it asks
        for.
    """
    jobs = []
    for line in text.splitlines():
        # A reason can have blanks.
        fields = line.split(maxsplit=_N_FIELDS - 1)
        # With an empty column it is not known which word belongs where.
        if len(fields) != _N_FIELDS or not fields[0].isdecimal() or not fields[4].isdecimal():
            continue
        job_id, user, state, partitions, n_nodes, start, left, tres, reason = fields
        jobs.append(
            ClusterJob(
                job_id=int(job_id),
                user=user,
                phase=parse_state(state).phase,
                partitions=tuple(partitions.split(",")),
                n_nodes=int(n_nodes),
                n_gpus=gpus_in_tres(tres).get("", 0),
                starts_at="" if start == "N/A" else start,
                left_s=parse_time_left(left),
                reason=reason.strip(),
            )
        )
    return tuple(jobs)
