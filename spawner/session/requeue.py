"""Whether Slurm has put a session's job back into the queue, which ends the session's server."""

from __future__ import annotations

from spawner.slurm.jobs import JobRecord
from spawner.slurm.states import Phase


class RunOfJob:
    """The run of the job that serves the session, known by its start."""

    def __init__(self) -> None:
        self._began_at = ""

    def note(self, record: JobRecord | None) -> bool:
        """Note what squeue says; return whether another run has taken its place, or will.

        Args:
            record: What squeue says about the job; None if it has not answered yet.
        """
        if record is None:
            return False
        if record.state.phase is Phase.WAITING:
            return True
        earlier, began_at = self._began_at, record.starts_at
        if record.state.phase is Phase.RUNNING and began_at:
            self._began_at = began_at
            # Put back and started again between two queries: only the start time tells.
            return earlier not in {"", began_at}
        return False

    def forget(self) -> None:
        """Await the next run."""
        self._began_at = ""
