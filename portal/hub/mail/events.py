"""What happened to a session between two looks, as far as its user wants mail about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

START, END, BOTH = "At the start", "At the end", "At both"
# On the form; Slurm's own mail knows BEGIN, END, FAIL and TIME_LIMIT.
CHOICES = (START, END, BOTH)
# Who starts a session that does not have to wait is still looking at the page.
_LEFT_PAGE_AFTER_S = 60.0


class Event(Enum):
    """One thing that a user is told."""

    STARTED = "started"
    NOT_STARTED = "not started"
    ENDS_SOON = "ends soon"
    ENDED = "ended"
    GPUS_GIVEN_BACK = "GPUs given back"


class Phase(Enum):
    """Where a session is."""

    STARTING = "starting"
    READY = "ready"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at a session, or what is kept of it until the next.

    Attributes:
        session_id: The session's own; empty if there is none.
        wants: The user's choice, one of `CHOICES`, or empty for no mail.
        waits_since: When it was submitted, in seconds since 1970 (UTC); 0 if not known.
        left_s: Seconds until its time limit; None if it does not run or has no limit.
        is_explained: Whether there is something to say of its end: the user did not stop it.
        is_warned: Whether its user knows that it ends soon.
    """

    session_id: str
    phase: Phase
    wants: str
    waits_since: float = 0.0
    left_s: float | None = None
    is_explained: bool = False
    is_warned: bool = False

    def to_state(self) -> dict[str, Any]:
        """Return what the next look needs of it, as JSON values."""
        return asdict(self) | {"phase": self.phase.value, "left_s": None}

    @classmethod
    def from_state(cls, state: Any) -> Look | None:
        """Return the look that `state`, JSON values, holds; None if it holds none."""
        try:
            return cls(**{**state, "phase": Phase(state["phase"])})
        except (TypeError, KeyError, ValueError):
            # A damaged file costs mail, not the start of the hub.
            return None


def compare(
    before: Look | None, now: Look, *, at: float, before_end_s: float
) -> tuple[tuple[Event, ...], Look]:
    """Return what happened between two looks at a user's session, and what to keep of the second.

    Args:
        before: None at the first look, which tells of nothing that may be old.
        at: Time of the second look, in seconds since 1970 (UTC).
        before_end_s: Seconds before its end at which a session ends soon.
    """
    if now.phase is Phase.OVER:
        ended = before is not None and before.phase is not Phase.OVER and now.is_explained
        if not ended or before is None:
            return (), now
        event = Event.ENDED if before.phase is Phase.READY else Event.NOT_STARTED
        return _wanted((event,), before.wants), now
    same = before if before is not None and before.session_id == now.session_id else None
    events = []
    is_warned = same is not None and same.is_warned
    has_started = same is not None and same.phase is Phase.STARTING and now.phase is Phase.READY
    if has_started and at - now.waits_since > _LEFT_PAGE_AFTER_S:
        events.append(Event.STARTED)
    if now.phase is Phase.READY and now.left_s is not None:
        ends_soon = now.left_s <= before_end_s
        if ends_soon and not is_warned:
            events.append(Event.ENDS_SOON)
        # An extension moves the end away, and the next one is told again.
        is_warned = ends_soon
    return _wanted(tuple(events), now.wants), replace(now, is_warned=is_warned)


def is_wanted(event: Event, wants: str) -> bool:
    """Return whether a user who has chosen `wants`, one of `CHOICES` or nothing, is told."""
    told = {
        START: {Event.STARTED, Event.NOT_STARTED},
        END: set(Event) - {Event.STARTED},
        BOTH: set(Event),
    }
    return event in told.get(wants, ())


def _wanted(events: tuple[Event, ...], wants: str) -> tuple[Event, ...]:
    return tuple(event for event in events if is_wanted(event, wants))
