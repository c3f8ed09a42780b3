"""How good the forecasts were: forecast start against actual start."""

from __future__ import annotations

import statistics
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime, timedelta

# Sessions that were to start at once, and did, would make any forecast look good.
_SHORT_WAIT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """What past forecasts were worth.

    Attributes:
        n_sessions: Sessions counted: those that waited, or were to wait, a minute or more.
        median_error_s: Half of them started within this many seconds of the forecast.
        median_late_s: Median of actual minus forecast start; negative where sessions mostly
            start earlier, as they do when jobs end before their limit.
    """

    n_sessions: int
    median_error_s: float
    median_late_s: float


class ForecastRecord:
    """Keeps what was forecast to each waiting session and what became of it.

    Args:
        n_sessions: How many of the last sessions count, 1 or more.
    """

    def __init__(self, n_sessions: int = 1000) -> None:
        self._n_sessions = n_sessions
        self._open: OrderedDict[str, tuple[datetime, datetime]] = OrderedDict()
        self._late_s: deque[float] = deque(maxlen=n_sessions)

    def expect(self, session: str, starts_at: datetime, *, made_at: datetime) -> None:
        """Note what was forecast; a later forecast for the same session does not count.

        Args:
            session: Anything that names the session, such as its mark.
            starts_at: The forecast start.
            made_at: When it was forecast, in the same time zone.
        """
        self._open.setdefault(session, (starts_at, made_at))
        while len(self._open) > self._n_sessions:
            self._open.popitem(last=False)

    def start(self, session: str, started_at: datetime) -> None:
        """Note that a session started.

        Args:
            session: As given to `expect`; others are passed over.
            started_at: When Slurm started it, in the same time zone.
        """
        expected = self._open.pop(session, None)
        if expected is None:
            return
        starts_at, made_at = expected
        if max(starts_at, started_at) - made_at >= _SHORT_WAIT:
            self._late_s.append((started_at - starts_at).total_seconds())

    def forget(self, session: str) -> None:
        """Note that a session was cancelled before it started.

        Args:
            session: As given to `expect`.
        """
        self._open.pop(session, None)

    @property
    def accuracy(self) -> Accuracy | None:
        """What the forecasts were worth so far, or None before the first."""
        if not self._late_s:
            return None
        return Accuracy(
            n_sessions=len(self._late_s),
            median_error_s=statistics.median(map(abs, self._late_s)),
            median_late_s=statistics.median(self._late_s),
        )
