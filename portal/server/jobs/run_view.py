"""A run as pages show it: what its folder says and what Slurm says. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from portal.server.jobs.job import SlurmJob
from portal.server.jobs.run_folder import FolderSize, RunRecord

# From the folder of a run to its step or job in Slurm's list.
STARTS_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What Slurm says about the user's jobs and steps.

    Attributes:
        jobs: The user's jobs by their ids, those of the last day that are over included.
    """

    jobs: Mapping[str, SlurmJob]
    steps: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as pages show it.

    Attributes:
        state: "waiting", "running", "done", "failed", "stopped", "saved", "lost" or "unknown".
        words: Its result, why it failed or why it waits; "" for none of them.
        nodes: Its nodes while it runs, in Slurm's short form, or "".
        size: What its folder holds, or None before it was measured.
    """

    record: RunRecord
    state: str
    words: str
    nodes: str
    size: FolderSize | None

    @property
    def is_over(self) -> bool:
        """Whether it runs no more, as far as is known."""
        return self.state not in {"waiting", "running", "unknown"}

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        values = asdict(self.record)
        del values["end"]
        size = {"n_bytes": None, "has_events": False} if self.size is None else asdict(self.size)
        own = {"state": self.state, "words": self.words, "nodes": self.nodes}
        return {**values, **own, **size, "is_over": self.is_over}


def view_run(
    record: RunRecord, listing: Listing | None, size: FolderSize | None, now_s: float
) -> RunView:
    """Return a run as pages show it.

    Args:
        listing: What Slurm says; None if it did not answer, or need not be asked.
    """
    if record.end:
        return RunView(record=record, state=record.end, words=record.words, nodes="", size=size)
    words, nodes = "It ended without a word, for example because its session or node ended.", ""
    state = "lost"
    job = None if listing is None else find_job(record, listing.jobs)
    if job is not None:
        state = "lost" if job.is_over else "waiting" if job.phase == "waiting" else "running"
        # A job that Slurm ended wrote nothing into the folder.
        words, nodes = job.reason or (words if job.is_over else ""), job.nodes
    elif record.cluster:
        state, words = (
            "unknown",
            f"It is on {record.cluster}: a session there follows and stops it.",
        )
    elif listing is None:
        state, words = "unknown", "Slurm is not responding."
    elif record.name in listing.steps:
        state, words = "running", ""
    elif now_s - record.started_s < STARTS_WITHIN_S:
        state, words = "running", "It is starting."
    return RunView(record=record, state=state, words=words, nodes=nodes, size=size)


def find_job(record: RunRecord, jobs: Mapping[str, SlurmJob]) -> SlurmJob | None:
    """Return the job that is a run's own, or None if it has none, or it is not known."""
    if not record.cluster:
        return jobs.get(record.job_id)
    # Its number is that of another job here, and its name is the run's alone.
    return next((job for job in jobs.values() if job.cluster and job.name == record.name), None)
