"""Decides whether a session is idle: warning, saving, end. Pure logic, without a server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from portal.settings.idle import IdleSettings

# Open tabs poll every few seconds, hidden ones at least once a minute.
SAVE_S = 75.0
# What a start itself runs on the CPU is over by then.
_START_S = 60.0


class IdleState(StrEnum):
    """Stages from use to the end."""

    USED = "used"
    WARNED = "warned"
    SAVING = "saving"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at the session.

    Attributes:
        gpu_percents: Use of each GPU; None if not known.
        programs_percent: CPU of kernels, terminals and what they started, in percent of one core;
            None if not known.
        input_s: When somebody last typed, clicked or pointed in a tab, by the same clock.
    """

    now_s: float
    gpu_percents: tuple[float | None, ...]
    is_kernel_busy: bool
    programs_percent: float | None
    input_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleView:
    """The idle state as pages get it.

    Attributes:
        ends_in_s: Seconds until the session is stopped; None while it is used.
    """

    state: IdleState
    idle_s: int
    ends_in_s: int | None


class IdleWatch:
    """Follows the use of one session.

    Anything that computes keeps the session: a GPU or a program above its limit, a busy kernel. So
    does input in a tab. A GPU whose use is not known (simulated or MIG) is ignored. If the CPU use
    cannot be measured, the session counts as used.

    Args:
        policy: The site's.
        now_s: Monotonic clock.
        save_s: Seconds that tabs have to save before the end, at most as many as they are warned.
    """

    def __init__(self, policy: IdleSettings, now_s: float, *, save_s: float = SAVE_S) -> None:
        self._policy = policy
        self._save_s = min(save_s, policy.warning_s)
        self._used_s = self._now_s = self._begun_s = now_s
        self._is_opened = False
        self._state = IdleState.USED
        self._since_s = now_s

    def keep(self, now_s: float) -> None:
        """Count the session as used at `now_s`, by the monotonic clock."""
        self._used_s = self._now_s = now_s
        self._is_opened = True
        self._go_to(IdleState.USED)

    def look(self, seen: Observation) -> IdleState:
        """Take one observation into account and return the new state."""
        policy, self._now_s = self._policy, seen.now_s
        if is_used(policy, seen):
            self._used_s = seen.now_s
        else:
            self._used_s = max(self._used_s, min(seen.input_s, seen.now_s))
        self._is_opened = self._is_opened or self._shows_somebody(seen)
        # Any use since the state began ends a warning.
        after_s = self._after_s
        if after_s <= 0 or self._used_s > self._since_s or self._idle_s < after_s:
            self._go_to(IdleState.USED)
        if self._state is IdleState.USED and 0 < after_s <= self._idle_s:
            self._go_to(IdleState.WARNED)
        if self._state is IdleState.WARNED and self._in_state_s >= policy.warning_s:
            self._go_to(IdleState.SAVING)
        if self._state is IdleState.SAVING and self._in_state_s >= self._save_s:
            self._go_to(IdleState.OVER)
        return self._state

    def view(self) -> IdleView:
        """Return the idle state as pages get it."""
        left_s = None
        if self._state is IdleState.WARNED:
            left_s = self._policy.warning_s - self._in_state_s + self._save_s
        elif self._state is not IdleState.USED:
            left_s = self._save_s - self._in_state_s
        return IdleView(
            state=self._state,
            idle_s=round(self._idle_s),
            ends_in_s=None if left_s is None else max(0, round(left_s)),
        )

    def _shows_somebody(self, seen: Observation) -> bool:
        if seen.is_kernel_busy or seen.input_s > self._begun_s:
            return True
        # CPU that cannot be measured, as in the first sample, is nobody's.
        is_measured = seen.programs_percent is not None
        has_started = seen.now_s > self._begun_s + _START_S
        return has_started and is_measured and is_used(self._policy, seen)

    @property
    def _after_s(self) -> float:
        limits_s = [self._policy.after_s]
        if not self._is_opened:
            limits_s.append(self._policy.unopened_s)
        return min((limit_s for limit_s in limits_s if limit_s > 0), default=0.0)

    @property
    def _idle_s(self) -> float:
        return self._now_s - self._used_s

    @property
    def _in_state_s(self) -> float:
        return self._now_s - self._since_s

    def _go_to(self, state: IdleState) -> None:
        if state is not self._state:
            self._state, self._since_s = state, self._now_s


def is_used(policy: IdleSettings, seen: Observation) -> bool:
    """Return whether something computes; True also if the CPU could not be measured."""
    if seen.is_kernel_busy or seen.programs_percent is None:
        return True
    if seen.programs_percent >= policy.cpu_percent:
        return True
    known = [percent for percent in seen.gpu_percents if percent is not None]
    return any(percent >= policy.gpu_percent for percent in known)
