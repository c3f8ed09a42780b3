"""State of one job that the hub watches."""

import math
from collections.abc import Callable
from dataclasses import replace

from dsportal.slurm.states import JobState, Phase
from spawner.slurm.jobs import JobKey, JobRecord


class Watch:
    """What the watcher knows about one job.

    Attributes:
        is_hot: Whether somebody waits for it, so that Slurm is asked often.
        record: What squeue said last; None before the first answer.
        is_over: Whether the job has certainly ended.
        is_gone: Whether Slurm's cleanup on the node has ended too.
        on_news: Called when something changes.
        absent_since: When squeue first did not show it, by the watcher's clock; None if it did.
        n_absences: Successive answers of squeue without it.
    """

    def __init__(self, key: JobKey, *, is_hot: bool, on_news: Callable[[], None]) -> None:
        self.key = key
        self.is_hot = is_hot
        self.record: JobRecord | None = None
        self.is_over = False
        self.is_gone = False
        self.on_news = on_news
        self.absent_since: float | None = None
        self.n_absences = 0
        self._left_s: int | None = None
        self._known_at = -math.inf

    @property
    def state(self) -> str:
        """One of "waiting", "starting" and "running"."""
        # A session that starts is watched closely; once it runs, it is not.
        if not self.is_hot:
            return "running"
        is_started = self.record is not None and self.record.state.phase is Phase.RUNNING
        return "starting" if is_started else "waiting"

    def see(self, record: JobRecord, asked_at: float) -> None:
        """Take in what squeue says.

        Args:
            record: This very job; the caller has compared more than the id.
            asked_at: When squeue was asked, by the watcher's clock.
        """
        if asked_at >= self._known_at:
            self._left_s, self._known_at = record.left_s, asked_at
        # The query began before the end was moved, so its end is the old one.
        elif self.record is not None:
            record = replace(record, ends_at=self.record.ends_at)
        if self._is_put_back(record):
            record = replace(record, state=JobState.REQUEUED)
        is_new = self.record != record
        self.record = record
        # One sight of the job makes earlier absences a fault of Slurm's answers.
        self.absent_since, self.n_absences = None, 0
        if record.state.phase is Phase.OVER:
            self.is_over = True
            # While it completes, Slurm still cleans up on its node.
            self.is_gone = record.state is not JobState.COMPLETING
        if is_new:
            self.on_news()

    def _is_put_back(self, record: JobRecord) -> bool:
        """Return whether Slurm has put the job back; it shows it as completing meanwhile."""
        before = self.record
        if record.state is not JobState.COMPLETING or before is None:
            return False
        return record.n_restarts > before.n_restarts or before.state is JobState.REQUEUED

    def set_end(self, now: float, *, left_s: int, ends_at: str) -> None:
        """Set a new end; answers to earlier queries no longer change it.

        Args:
            now: By the watcher's clock.
        """
        self._left_s, self._known_at = left_s, now
        if self.record is not None:
            self.record = replace(self.record, ends_at=ends_at)

    def left_s(self, now: float) -> int | None:
        """Return how many seconds the job has left.

        Args:
            now: By the watcher's clock.

        Returns:
            Whole seconds, 0 or more; None if it does not run or nothing is known.
        """
        is_running = self.record is None or self.record.state.phase is Phase.RUNNING
        if self._left_s is None or not is_running:
            return None
        return max(0, round(self._left_s - (now - self._known_at)))

    def mark_gone(self) -> None:
        """Note that Slurm no longer has such a job."""
        if not self.is_gone:
            self.is_over = self.is_gone = True
            self.on_news()


def forget_news() -> None:
    """Do nothing: `on_news` of a watch that nobody reads any more."""
