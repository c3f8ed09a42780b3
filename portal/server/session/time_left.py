"""When the session ends: Slurm's own word in the job, then the hub's, which follows changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from portal.server.hub_api import HubError

# How old the hub's answer may be. A thousand open sessions are 17 questions a second.
ANSWER_AGE_S = 60.0
NEAR_ANSWER_AGE_S = 15.0
_NEAR_S = 600


class Hub(Protocol):
    """What the clock needs of the hub."""

    async def read_session(self) -> dict[str, Any]:
        """Return "left_s" and "extension"."""

    async def extend(self) -> dict[str, Any]:
        """Let the session go on for longer.

        Returns:
            What `read_session` returns.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLeft:
    """What a page shows of the session's time.

    Attributes:
        left_s: Seconds until the end, 0 or more; None where there is no limit or none is known.
        warnings_s: Seconds before the end at which pages warn, the earliest first.
        n_signals: How often Slurm has warned the job; each time pages save.
        step_s: Seconds that an extension adds; 0 where none is offered.
        n_left: How many extensions are left.
    """

    left_s: int | None
    warnings_s: tuple[int, ...]
    n_signals: int
    step_s: int
    n_left: int

    def as_json(self) -> dict[str, Any]:
        """Return this as JSON values."""
        return asdict(self)


class SessionClock:
    """Knows when the session ends.

    Args:
        hub: Is asked when its last answer is old.
        environment: Variables of the job.
        now: The present, seconds since 1970.
    """

    def __init__(
        self, hub: Hub, environment: Mapping[str, str], *, now: Callable[[], float] = time.time
    ) -> None:
        self._hub = hub
        self._now = now
        self._ends_s = find_end(environment, now())
        self._warnings_s = parse_seconds(environment.get("PORTAL_WARNINGS_S", ""))
        self._extension = {"step_s": 0, "n_left": 0}
        self._n_signals = 0
        self.notices: tuple[str, ...] = ()
        self._asked_s = -ANSWER_AGE_S
        self._asking: asyncio.Future[None] | None = None
        self._n_extended = 0

    def hear_signal(self) -> None:
        """Note that Slurm has warned the job."""
        self._n_signals += 1

    async def read(self) -> TimeLeft:
        """Return the time left; the hub is asked once for all tabs.

        Returns:
            What is known; the last answer where the hub does not answer.
        """
        if self._asking is None and self._now() - self._asked_s >= self._answer_age_s:
            self._asking = asyncio.ensure_future(self._ask())
        if self._asking is not None:
            await asyncio.shield(self._asking)
        return self._time_left()

    async def extend(self) -> TimeLeft:
        """Let the session go on for longer.

        Returns:
            The time left from now on.

        Raises:
            HubError: If it may not be, with the reason, or the hub did not answer.
        """
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
    """Return when the job ends, as far as the job itself knows.

    Args:
        environment: SLURM_JOB_END_TIME of newer Slurm, else SLURM_JOB_START_TIME and
            PORTAL_WALLTIME_S.
        started_s: When this server started, for a Slurm that says neither.

    Returns:
        Seconds since 1970, or None where no limit is known.

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


def parse_seconds(text: str) -> tuple[int, ...]:
    """Return the whole numbers in a list such as "1800,900,300".

    Args:
        text: Numbers with commas; words that are none are left out.

    Returns:
        The numbers, the largest first.
    """
    numbers = {int(word) for word in text.split(",") if word.strip().isdecimal()}
    return tuple(sorted(numbers, reverse=True))


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
