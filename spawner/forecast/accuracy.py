"""How good Slurm's forecasts were: actual starts against forecast ones, kept in a file."""

import logging
import statistics
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from spawner.json_file import JsonFile

_log = logging.getLogger("JupyterHub")

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
    """The forecast for each waiting session, and the errors of past ones; saved at each change.

    Args:
        path: In a folder that only the hub can write; None keeps nothing over a restart.
        n_sessions: How many of the last sessions count, 1 or more.
    """

    def __init__(self, path: Path | None, *, n_sessions: int = 1000) -> None:
        self._n_sessions = n_sessions
        self._open: OrderedDict[str, tuple[datetime, datetime]] = OrderedDict()
        self._late_s: deque[float] = deque(maxlen=n_sessions)
        self._file = JsonFile(path)
        state = self._file.read()
        try:
            self._late_s.extend(map(float, state.get("late_s", ())))
            for session, moments in state.get("open", {}).items():
                starts_at, made_at = map(datetime.fromisoformat, moments)
                self._open[session] = (starts_at, made_at)
        except (ValueError, TypeError, AttributeError) as error:
            _log.warning("The record of forecasts is started again: %s", error)
            self._open.clear()
            self._late_s.clear()

    def expect(self, session: str, starts_at: datetime, *, made_at: datetime) -> None:
        """Note a forecast; only the first for a session counts.

        Args:
            session: Anything that identifies the session, such as its id.
            made_at: When it was forecast, in the same time zone.
        """
        self._open.setdefault(session, (starts_at, made_at))
        # Those whose start was never seen, for example while no hub ran, would pile up.
        while len(self._open) > self._n_sessions:
            self._open.popitem(last=False)
        self._save()

    def start(self, session: str, started_at: datetime) -> float | None:
        """Note that a session started at a moment in the time zone of `expect`.

        Returns:
            Seconds from the forecast to the actual start, negative if it came earlier; None if the
            session does not count.
        """
        expected = self._open.pop(session, None)
        if expected is None:
            return None
        starts_at, made_at = expected
        late_s = None
        if max(starts_at, started_at) - made_at >= _SHORT_WAIT:
            late_s = (started_at - starts_at).total_seconds()
            self._late_s.append(late_s)
        self._save()
        return late_s

    def forget(self, session: str) -> None:
        """Forget a session that was cancelled before it started."""
        if self._open.pop(session, None) is not None:
            self._save()

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

    def close(self) -> None:
        """Wait until everything is written."""
        self._file.close()

    def _save(self) -> None:
        forecasts: dict[str, Any] = {
            session: [moment.isoformat() for moment in moments]
            for session, moments in self._open.items()
        }
        self._file.save({"open": forecasts, "late_s": list(self._late_s)})
