"""Whether a session is used, and what follows where it is not. Pure: it knows no server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

# Open tabs ask every few seconds, hidden ones once a minute at the latest.
SAVE_S = 75.0


class IdleState(Enum):
    """How far it has come."""

    USED = "used"
    WARNED = "warned"
    SAVING = "saving"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdlePolicy:
    """What a site wants.

    Attributes:
        after_s: Seconds without use after which the session is warned; 0 for never.
        warning_s: Seconds from the warning to the end.
        gpu_percent: Use of a GPU below which it counts as idle.
        cpu_percent: Use of the CPU by kernels, terminals and what they started, in percent of one
            core, below which they count as idle.
        save_s: Seconds that tabs have to save before the end.
    """

    after_s: float
    warning_s: float
    gpu_percent: float = 5.0
    cpu_percent: float = 5.0
    save_s: float = SAVE_S

    @classmethod
    def parse(cls, environment: Mapping[str, str]) -> IdlePolicy:
        """Return the policy that the hub gave to the session.

        Args:
            environment: PORTAL_IDLE_AFTER_S, PORTAL_IDLE_WARNING_S, PORTAL_IDLE_GPU_PERCENT and
                PORTAL_IDLE_CPU_PERCENT.

        Returns:
            The policy; off where the first is missing or no number.
        """
        values = {}
        names = ("after_s", "warning_s", "gpu_percent", "cpu_percent")
        for name, default in zip(names, (0.0, 900.0, 5.0, 5.0), strict=True):
            try:
                values[name] = float(environment.get(f"PORTAL_IDLE_{name.upper()}", default))
            except ValueError:
                values[name] = default
        return cls(**values, save_s=min(SAVE_S, values["warning_s"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at the session.

    Attributes:
        now_s: When, seconds that only grow.
        gpu_percents: Use of each GPU; None where it is not known.
        is_kernel_busy: A kernel computes, or starts.
        programs_percent: CPU of kernels, terminals and what they started, in percent of one core;
            None where it is not known.
        input_s: When somebody last typed, clicked or pointed in a tab.
    """

    now_s: float
    gpu_percents: tuple[float | None, ...]
    is_kernel_busy: bool
    programs_percent: float | None
    input_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleView:
    """What pages are told.

    Attributes:
        state: How far it has come.
        idle_s: Seconds without use.
        ends_in_s: Seconds until the session is given back; None while it is used.
    """

    state: IdleState
    idle_s: int
    ends_in_s: int | None


class IdleWatch:
    """Follows one session.

    Whatever computes keeps the session: a GPU or a program above its limit, a busy kernel. So does
    input in a tab. A GPU whose use is not known, simulated or MIG, neither keeps nor ends it: the
    rest decides. What cannot be measured at all counts as use.

    Args:
        policy: What the site wants.
        now_s: The present, seconds that only grow.
    """

    def __init__(self, policy: IdlePolicy, now_s: float) -> None:
        self._policy = policy
        self._used_s = self._now_s = now_s
        self._state = IdleState.USED
        self._since_s = now_s

    def keep(self, now_s: float) -> None:
        """Note that somebody wants to keep the session.

        Args:
            now_s: The present.
        """
        self._used_s = self._now_s = now_s
        self._go_to(IdleState.USED)

    def look(self, seen: Observation) -> IdleState:
        """Judge one look at the session.

        Args:
            seen: What was seen.

        Returns:
            How far it has come.
        """
        policy, self._now_s = self._policy, seen.now_s
        if is_used(policy, seen):
            self._used_s = seen.now_s
        else:
            self._used_s = max(self._used_s, min(seen.input_s, seen.now_s))
        if policy.after_s <= 0 or self._used_s > self._since_s or self._idle_s < policy.after_s:
            self._go_to(IdleState.USED)
        if self._state is IdleState.USED and 0 < policy.after_s <= self._idle_s:
            self._go_to(IdleState.WARNED)
        if self._state is IdleState.WARNED and self._in_state_s >= policy.warning_s:
            self._go_to(IdleState.SAVING)
        if self._state is IdleState.SAVING and self._in_state_s >= policy.save_s:
            self._go_to(IdleState.OVER)
        return self._state

    def view(self) -> IdleView:
        """Return what pages are told."""
        left_s = None
        if self._state is IdleState.WARNED:
            left_s = self._policy.warning_s - self._in_state_s + self._policy.save_s
        elif self._state is not IdleState.USED:
            left_s = self._policy.save_s - self._in_state_s
        return IdleView(
            state=self._state,
            idle_s=round(self._idle_s),
            ends_in_s=None if left_s is None else max(0, round(left_s)),
        )

    @property
    def _idle_s(self) -> float:
        return self._now_s - self._used_s

    @property
    def _in_state_s(self) -> float:
        return self._now_s - self._since_s

    def _go_to(self, state: IdleState) -> None:
        if state is not self._state:
            self._state, self._since_s = state, self._now_s


def is_used(policy: IdlePolicy, seen: Observation) -> bool:
    """Return whether something computes.

    Args:
        policy: What the site wants.
        seen: One look at the session.

    Returns:
        True also where the CPU could not be measured.
    """
    if seen.is_kernel_busy or seen.programs_percent is None:
        return True
    if seen.programs_percent >= policy.cpu_percent:
        return True
    known = [percent for percent in seen.gpu_percents if percent is not None]
    return any(percent >= policy.gpu_percent for percent in known)
