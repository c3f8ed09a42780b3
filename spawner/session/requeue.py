"""Whether Slurm has put a session's job back into the queue, which ends the session's server."""

from dsportal.slurm.states import Phase
from spawner.slurm.jobs import JobRecord


class RunOfJob:
    """The run of the job that serves the session, known by Slurm's count of its restarts."""

    def __init__(self) -> None:
        self._n_restarts: int | None = None

    def note(self, record: JobRecord | None) -> bool:
        """Note what squeue says; return whether another run has taken its place, or will."""
        if record is None:
            return False
        if record.state.phase is Phase.WAITING:
            return True
        if record.state.phase is not Phase.RUNNING:
            return False
        # Put back and started again between two queries: only the count tells. The time of its
        # start would change with the time zone of this host, too.
        earlier, self._n_restarts = self._n_restarts, record.n_restarts
        return earlier not in {None, record.n_restarts}

    def forget(self) -> None:
        """Await the next run."""
        self._n_restarts = None
