"""Turns Slurm's forecast for a choice into words: "starts now", "about 14:20"."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from portal.hub.formatting import format_day, format_gpus
from spawner.forecast.forecaster import Forecast, Rejection
from spawner.slurm.gres import GpuCount

Tone = Literal["good", "wait", "off"]

# Slurm starts what it can within its next rounds.
_NOW = timedelta(seconds=90)
# From here on the form mentions a smaller choice that starts now.
_LONG = timedelta(minutes=15)
_SOON = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """When one choice would start.

    Attributes:
        words: For example "about 14:20".
        tone: "good" for now, "wait" for later, "off" if Slurm would refuse it.
        is_now: It would start now.
        is_far: It would start more than _LONG from now.
        refusal: Why Slurm would refuse it; "" if it would not.
    """

    words: str
    tone: Tone
    is_now: bool = False
    is_far: bool = False
    refusal: str = ""


def describe_start(forecast: Forecast | None, now: datetime, *, is_free: bool) -> Start:
    """Return when a choice would start: Slurm's forecast, or else what the free GPUs suggest.

    `forecast` is None if Slurm was not asked or did not answer. `now` is in its time zone.
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


def describe_free(count: GpuCount, waiting: str = "a session") -> str:
    """Return a sentence about free GPUs, for which what is `waiting` waits; "" without any."""
    if count.free:
        return f"{count.free} of {count.total} GPUs are free now."
    if count.total:
        return f"All {count.total} GPUs are taken now, so {waiting} waits until one is free."
    return ""


def with_alternative(start: Start, n_gpus: int, starts: dict[int, Start]) -> Start:
    """Add to a choice that starts much later the largest smaller one that starts now.

    `starts` has the start of each choice of the form, by GPUs.
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
    # After midnight "about 01:30" is still clear, and shorter than "tomorrow".
    if moment.date() == now.date() or moment - now < timedelta(hours=6):
        return f"about {moment:%H:%M}"
    if moment.date() == (now + _SOON).date():
        return f"not before tomorrow, {moment:%H:%M}"
    return f"not before {format_day(moment)}"
