"""When the session ends: from Slurm's variables first, then from the hub, which knows changes."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from portal.server.base.hub_api import HubApi, HubError
from portal.settings.session_tables import read_settings

# How old the hub's answer may be. A thousand open sessions make 17 requests a second.
ANSWER_AGE_S = 60.0
NEAR_ANSWER_AGE_S = 15.0
_NEAR_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLeft:
    """The session's time as pages show it.

    Attributes:
        left_s: Seconds until the end, 0 or more; None if there is no limit or none is known.
        warnings_s: Seconds before the end at which pages warn, the earliest first.
        n_signals: How often Slurm has warned the job; pages save each time.
        step_s: Seconds that an extension adds; 0 if none is offered.
    """

    left_s: int | None
    warnings_s: tuple[int, ...]
    n_signals: int
    step_s: int
    n_left: int


class SessionClock:
    """Knows when the session ends.

    Args:
        hub: Asked if its last answer is too old.
        now: Monotonic clock in seconds: that of the node may be set meanwhile.
    """

    def __init__(
        self,
        hub: HubApi,
        environment: Mapping[str, str],
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub = hub
        self._now = now
        unix_s = time.time()
        ends_at = find_end(environment, unix_s)
        self._ends_s = None if ends_at is None else now() + ends_at - unix_s
        self._warnings_s = read_settings(environment).clock.warnings_s
        self._extension = {"step_s": 0, "n_left": 0}
        self._n_signals = 0
        self.notices: tuple[str, ...] = ()
        self._asked_s = -ANSWER_AGE_S
        self._asking: asyncio.Future[None] | None = None
        self._n_extended = 0

    def on_signal(self) -> None:
        """Count a warning of Slurm's to the job."""
        self._n_signals += 1

    async def read(self) -> TimeLeft:
        """Return the time left; all tabs share one request to the hub.

        If the hub does not answer, its last answer counts.
        """
        if self._asking is None and self._now() - self._asked_s >= self._answer_age_s:
            self._asking = asyncio.ensure_future(self._ask())
        if self._asking is not None:
            # One tab that disconnects must not cancel the request for the others.
            await asyncio.shield(self._asking)
        return self._time_left()

    async def extend(self) -> TimeLeft:
        """Extend the session and return the new time left."""
        answer = await self._hub.extend()
        self._n_extended += 1
        self._take(answer)
        return self._time_left()

    async def _ask(self) -> None:
        n_extended = self._n_extended
        try:
            answer = await self._hub.read_session()
            # The hub may have read the old end before it extended the session.
            if n_extended == self._n_extended:
                self._take(answer)
        except HubError:
            self._asked_s = self._now()
        finally:
            self._asking = None

    def _take(self, answer: Mapping[str, Any]) -> None:
        # A hub that does not answer is not asked again at once either.
        self._asked_s = self._now()
        if answer.get("left_s") is not None:
            self._ends_s = self._now() + float(answer["left_s"])
        self._extension = dict(answer.get("extension") or self._extension)
        self.notices = tuple(str(text) for text in answer.get("notices", self.notices))

    @property
    def _answer_age_s(self) -> float:
        first_warning_s = max(self._warnings_s, default=0)
        is_near = (
            self._ends_s is not None and self._ends_s - self._now() <= first_warning_s + _NEAR_S
        )
        return NEAR_ANSWER_AGE_S if is_near else ANSWER_AGE_S

    def _time_left(self) -> TimeLeft:
        ends_s = self._ends_s
        return TimeLeft(
            left_s=None if ends_s is None else max(0, round(ends_s - self._now())),
            warnings_s=self._warnings_s,
            n_signals=self._n_signals,
            step_s=int(self._extension["step_s"]),
            n_left=int(self._extension["n_left"]),
        )


def find_end(environment: Mapping[str, str], started_s: float) -> float | None:
    """Return when the job ends as Unix time, as far as the job itself knows; None for no limit.

    Args:
        environment: SLURM_JOB_END_TIME of newer Slurm, else SLURM_JOB_START_TIME and
            PORTAL_WALLTIME_S.
        started_s: Unix time of this server's start, for a Slurm that says neither.

    Source:
        sbatch(1), OUTPUT ENVIRONMENT VARIABLES: both times are there from Slurm 23.02 on.
    """
    end = _number(environment.get("SLURM_JOB_END_TIME"))
    walltime_s = _number(environment.get("PORTAL_WALLTIME_S"))
    if end:
        return end
    if not walltime_s:
        return None
    return (_number(environment.get("SLURM_JOB_START_TIME")) or started_s) + walltime_s


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
