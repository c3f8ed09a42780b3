"""Progress of a starting session for its page: the steps so far, and lines of live status."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

# During a long wait the reason changes often; the page needs only the latest ones.
_MOST_STEPS = 30
# A page without JavaScript reloads every few seconds for as long as it is open.
_READ_FOR_S = 60.0
_STATE_KEY = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartStep:
    """One step of a start, a line of the page.

    Attributes:
        name: "submitted", "queued", "running", "starting" or "ready".
        percent: Length of the bar, 0..100.
        message: A sentence.
        at: When it was added, in seconds since 1970 (UTC).
    """

    name: str
    percent: int
    message: str
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of live status.

    Attributes:
        name: Such as "Expected start".
        text: Such as "about {0}", where {0} stands for the first of `times`.
        times: Seconds since 1970 (UTC): each reader sees them in their own time zone.
        is_problem: Whether it needs attention.
    """

    name: str
    text: str
    times: tuple[float, ...] = ()
    is_problem: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressUpdate:
    """One update for a reader of the page.

    Attributes:
        step: The latest step.
        facts: The facts with it.
        is_new: Whether the step is new to the reader; else only the facts have changed.
    """

    step: StartStep
    facts: tuple[Fact, ...]
    is_new: bool

    def to_event(self) -> dict[str, Any]:
        """Return the event that JupyterHub sends to pages and to REST clients, as JSON values."""
        return {
            "progress": self.step.percent,
            "message": self.step.message,
            "step": self.step.name,
            "at": self.step.at,
            "facts": [asdict(fact) for fact in self.facts],
            "is_new": self.is_new,
        }


class Progress:
    """The steps of one start, for any number of readers who come and go.

    Args:
        steps: Those before a restart of the hub.
        expected_at: When Slurm first expected the job to start, in seconds since 1970 (UTC); 0
            if it has not said so yet.
        clock: Current time in seconds since 1970 (UTC).
    """

    def __init__(
        self,
        steps: tuple[StartStep, ...] = (),
        *,
        expected_at: float = 0.0,
        keep: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.expected_at = expected_at
        self._steps = list(steps)
        self._keep = keep
        self._clock = clock
        self._facts: tuple[Fact, ...] = ()
        self._line: StartStep | None = None
        self._n_dropped = 0
        self._n_readers = 0
        self._read_at = 0.0
        self._is_finished = False
        self._changed = asyncio.Event()

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, keep: Callable[[], None]) -> Progress:
        """Return the progress in a saved state, without steps if it holds none.

        Args:
            state: JSON values that `to_state` returned, in this or an earlier release.
        """
        saved = state.get(_STATE_KEY) or {}
        steps = tuple(StartStep(**step) for step in saved.get("steps", ()))
        return cls(steps, expected_at=saved.get("expected_at", 0.0), keep=keep)

    def to_state(self) -> dict[str, Any]:
        """Return the progress as JSON values, without secrets."""
        steps = [asdict(step) for step in self._steps]
        return {_STATE_KEY: {"steps": steps, "expected_at": self.expected_at}}

    @property
    def log(self) -> tuple[StartStep, ...]:
        """The steps so far; reading them counts as having the page open."""
        self._read_at = self._clock()
        return tuple(self._steps)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The current lines of live status."""
        return self._facts

    @property
    def line(self) -> str:
        """The place in line of a start that is not submitted yet, as a sentence; else empty."""
        return "" if self._line is None or self._steps else self._line.message

    @property
    def last(self) -> StartStep | None:
        """The latest step; None before the first."""
        return self._steps[-1] if self._steps else None

    @property
    def submitted_at(self) -> float:
        """When the first step was added, in seconds since 1970 (UTC); 0 before it."""
        return self._steps[0].at if self._steps else 0.0

    @property
    def is_read(self) -> bool:
        """Whether somebody has the page open, as far as the hub can tell."""
        return self._n_readers > 0 or self._clock() - self._read_at < _READ_FOR_S

    def add_step(self, name: str, percent: int, message: str) -> None:
        """Add a step, unless it repeats the last or the first one.

        A restarted hub adds the first one again.
        """
        told = [(step.name, step.percent, step.message) for step in self._steps]
        if (name, percent, message) in told[:1] + told[-1:]:
            return
        self._steps.append(StartStep(name=name, percent=percent, message=message, at=self._clock()))
        if len(self._steps) > _MOST_STEPS:
            # The first stays: it says when the job was submitted.
            del self._steps[1]
            self._n_dropped += 1
        self._keep()
        self._wake()

    def show(self, *facts: Fact) -> None:
        """Replace the facts; they are shown in this order."""
        if facts != self._facts:
            self._facts = facts
            self._wake()

    def stand_in_line(self, message: str) -> None:
        """Show the place in line until the first step; nothing of it is saved."""
        self._line = StartStep(name="submitted", percent=0, message=message, at=self._clock())
        self._wake()

    def finish(self) -> None:
        """End every reader's `news`."""
        self._is_finished = True
        self._wake()

    async def news(self) -> AsyncIterator[ProgressUpdate]:
        """Yield every step so far, then each new one and each change of facts until the end.

        Yields:
            News in their order.
        """
        n_seen, facts, line = 0, self._facts, None
        self._n_readers += 1
        try:
            while True:
                # Taken before the steps are read, so that none in between is missed.
                changed = self._changed
                # Steps that were dropped while this reader waited are gone.
                n_seen = max(n_seen, self._n_dropped)
                is_told = n_seen == self._n_dropped + len(self._steps)
                for step in self._steps[n_seen - self._n_dropped :]:
                    n_seen += 1
                    facts = self._facts
                    yield ProgressUpdate(step=step, facts=facts, is_new=True)
                if is_told and self._steps and facts != self._facts:
                    facts = self._facts
                    yield ProgressUpdate(step=self._steps[-1], facts=facts, is_new=False)
                if self._line is not line and not self._steps:
                    line = self._line
                    if line is not None:
                        yield ProgressUpdate(step=line, facts=self._facts, is_new=False)
                if self._is_finished:
                    return
                await changed.wait()
        finally:
            self._n_readers -= 1

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
