"""Amounts in sentences: counts with their noun, and durations."""

from __future__ import annotations

SECONDS_PER_HOUR = 3600
SECONDS_PER_MINUTE = 60


def count(n: int, noun: str) -> str:
    """Return `n` with its `noun`: "1 job", "2 jobs" or "0 jobs"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def format_length(seconds: float) -> str:
    """Return "8 hours", "1.25 hours" or "20 minutes" for `seconds`, not rounded to tenths.

    For a length beside its limit: 4.01 hours must not read as "4 hours".
    """
    hours, minutes = seconds / SECONDS_PER_HOUR, seconds / SECONDS_PER_MINUTE
    length, unit = (hours, "hour") if hours >= 1 else (minutes, "minute")
    return f"{length:g} {unit}{'' if length == 1 else 's'}"


def format_hours(seconds: float) -> str:
    """Return "8 hours" or "1.5 hours" for `seconds`, or "20 minutes" below an hour."""
    if seconds < SECONDS_PER_HOUR:
        return count(round(seconds / SECONDS_PER_MINUTE), "minute")
    hours = f"{seconds / SECONDS_PER_HOUR:.1f}".removesuffix(".0")
    return f"{hours} hour{'' if hours == '1' else 's'}"
