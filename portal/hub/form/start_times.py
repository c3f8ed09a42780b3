"""When a session would start, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from portal.hub.formatting import format_gpus
from spawner.forecast.forecaster import Forecast, Rejection

Tone = Literal["good", "wait", "off"]

# Slurm starts what it can within its next rounds.
_NOW = timedelta(seconds=90)
# From here on something smaller that starts now is worth a word.
_LONG = timedelta(minutes=15)
_SOON = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """When one choice would start.

    Attributes:
        words: For example "about 14:20".
        tone: "good" for now, "wait" for later, "off" where Slurm would refuse it.
        is_now: It would start now.
        is_far: It would start much later.
        refusal: Why Slurm would refuse it; "" where it would not.
    """

    words: str
    tone: Tone
    is_now: bool = False
    is_far: bool = False
    refusal: str = ""


def describe_start(forecast: Forecast | None, now: datetime, *, is_free: bool) -> Start:
    """Return when a session would start.

    Args:
        forecast: What Slurm said; None where it was not asked or did not answer.
        now: The present, in the time zone of the forecast.
        is_free: Whether a node has all of it free.

    Returns:
        Slurm's word, or else what the free GPUs let one expect.
    """
    if forecast is None:
        if is_free:
            return Start(words="can start now", tone="good", is_now=True)
        return Start(words="has to wait", tone="wait")
    answer = forecast.answer
    if isinstance(answer, Rejection):
        return Start(words="not possible", tone="off", refusal=answer.diagnosis.sentence)
    if answer - now <= _NOW:
        return Start(words="starts now", tone="good", is_now=True)
    return Start(words=_later(answer, now), tone="wait", is_far=answer - now > _LONG)


def with_alternative(start: Start, n_gpus: int, starts: dict[int, Start]) -> Start:
    """Add what would start now to a choice that would start much later.

    Args:
        start: When the choice would start.
        n_gpus: Its GPUs.
        starts: When each choice of the form would start, by GPUs.

    Returns:
        The start, with the largest smaller choice that starts now.
    """
    smaller = [n for n, other in starts.items() if 0 < n < n_gpus and other.is_now]
    if not start.is_far or not smaller:
        return start
    return Start(
        words=f"{start.words}; {format_gpus(max(smaller))} would start now",
        tone=start.tone,
        is_far=True,
    )


def _later(moment: datetime, now: datetime) -> str:
    if moment.date() == now.date() or moment - now < timedelta(hours=6):
        return f"about {moment:%H:%M}"
    if moment.date() == (now + _SOON).date():
        return f"not before tomorrow, {moment:%H:%M}"
    return f"not before {moment:%A}, {moment.day} {moment:%B}"
