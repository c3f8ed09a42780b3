"""Accuracy of past forecasts: forecast start against actual start."""

from __future__ import annotations

import statistics
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

# Sessions that were expected to start at once, and did, would make any forecast look good.
_SHORT_WAIT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Accuracy of past forecasts.

    Attributes:
        n_sessions: Sessions counted: those that waited, or were to wait, a minute or more.
        median_error_s: Half of them started within this many seconds of the forecast.
        median_late_s: Median of actual minus forecast start; negative if sessions mostly
            start earlier, as they do when jobs end before their limit.
    """

    n_sessions: int
    median_error_s: float
    median_late_s: float


class ForecastRecord:
    """The forecast for each waiting session, and the errors of past ones.

    Args:
        n_sessions: How many of the last sessions count, 1 or more.
    """

    def __init__(self, n_sessions: int = 1000) -> None:
        self._n_sessions = n_sessions
        self._open: OrderedDict[str, tuple[datetime, datetime]] = OrderedDict()
        self._late_s: deque[float] = deque(maxlen=n_sessions)

    def expect(self, session: str, starts_at: datetime, *, made_at: datetime) -> None:
        """Note a forecast; only the first for a session counts.

        Args:
            session: Anything that identifies the session, such as its id.
            starts_at: The forecast start.
            made_at: When it was forecast, in the same time zone.
        """
        self._open.setdefault(session, (starts_at, made_at))
        # Those whose start was never seen, for example while no hub ran, would pile up.
        while len(self._open) > self._n_sessions:
            self._open.popitem(last=False)

    def start(self, session: str, started_at: datetime) -> float | None:
        """Note that a session started.

        Args:
            session: As given to `expect`; others are ignored.
            started_at: When Slurm started it, in the same time zone.

        Returns:
            Seconds from the forecast to the actual start, negative if it came earlier; None if the
            session does not count.
        """
        expected = self._open.pop(session, None)
        if expected is None:
            return None
        starts_at, made_at = expected
        if max(starts_at, started_at) - made_at < _SHORT_WAIT:
            return None
        late_s = (started_at - starts_at).total_seconds()
        self._late_s.append(late_s)
        return late_s

    def forget(self, session: str) -> bool:
        """Forget a session that was cancelled before it started; return whether it was known."""
        return self._open.pop(session, None) is not None

    def to_state(self) -> dict[str, Any]:
        """Return the record as JSON values; the times keep their time zone."""
        open_forecasts = {
            session: [moment.isoformat() for moment in moments]
            for session, moments in self._open.items()
        }
        return {"open": open_forecasts, "late_s": list(self._late_s)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], n_sessions: int = 1000) -> ForecastRecord:
        """Return the record in a saved state.

        Args:
            state: JSON values that `to_state` returned.
            n_sessions: How many of the last sessions count, 1 or more.
        """
        record = cls(n_sessions)
        record._late_s.extend(float(late_s) for late_s in state["late_s"])
        for session, (starts_at, made_at) in state["open"].items():
            made = datetime.fromisoformat(made_at)
            record.expect(session, datetime.fromisoformat(starts_at), made_at=made)
        return record

    @property
    def accuracy(self) -> Accuracy | None:
        """Accuracy so far; None before the first session that counts."""
        if not self._late_s:
            return None
        return Accuracy(
            n_sessions=len(self._late_s),
            median_error_s=statistics.median(map(abs, self._late_s)),
            median_late_s=statistics.median(self._late_s),
        )
