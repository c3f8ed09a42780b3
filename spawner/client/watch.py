"""What is known about one job that the hub follows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from spawner.slurm.jobs import JobKey, JobRecord
from spawner.slurm.states import JobState, Phase


class Watch:
    """What the watcher knows about one job.

    Attributes:
        key: The job.
        is_hot: Somebody waits for it, so Slurm is asked often.
        record: What squeue said last; None before the first answer.
        is_over: The job has ended, beyond doubt.
        is_gone: Slurm's cleaning on the node has ended, too.
        on_news: Called when something new is known.
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
        """The job waits, starts or runs: "waiting", "starting" or "running"."""
        if not self.is_hot:
            return "running"
        is_started = self.record is not None and self.record.state.phase is Phase.RUNNING
        return "starting" if is_started else "waiting"

    def see(self, record: JobRecord, asked_at: float) -> None:
        """Take in what squeue says.

        Args:
            record: The line of this very job.
            asked_at: When squeue was asked, by the watcher's clock.
        """
        if asked_at >= self._known_at:
            self._left_s, self._known_at = record.left_s, asked_at
        elif self.record is not None:
            record = replace(record, ends_at=self.record.ends_at)
        is_new = self.record != record
        self.record = record
        self.absent_since, self.n_absences = None, 0
        if record.state.phase is Phase.OVER:
            self.is_over = True
            self.is_gone = record.state is not JobState.COMPLETING
        if is_new:
            self.on_news()

    def set_end(self, now: float, *, left_s: int, ends_at: str) -> None:
        """Take in a new end; what was asked before `now` no longer says when that is.

        Args:
            now: The present, by the watcher's clock.
            left_s: Seconds until the end.
            ends_at: The end, as squeue writes it.
        """
        self._left_s, self._known_at = left_s, now
        if self.record is not None:
            self.record = replace(self.record, ends_at=ends_at)

    def left_s(self, now: float) -> int | None:
        """Return how long the job goes on.

        Args:
            now: The present, by the watcher's clock.

        Returns:
            Whole seconds, 0 or more; None where it does not run or nothing is known.
        """
        is_running = self.record is None or self.record.state.phase is Phase.RUNNING
        if self._left_s is None or not is_running:
            return None
        return max(0, round(self._left_s - (now - self._known_at)))

    def vanish(self) -> None:
        """Note that Slurm has no such job any more."""
        if not self.is_gone:
            self.is_over = self.is_gone = True
            self.on_news()


def forget_news() -> None:
    """Do nothing: nobody listens any more."""
