"""Amounts in sentences: counts with their noun, and durations."""

from __future__ import annotations


def count(n: int, noun: str) -> str:
    """Return `n` with its `noun`: "1 job", "2 jobs" or "0 jobs"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def format_length(seconds: float) -> str:
    """Return "8 hours", "1.25 hours" or "20 minutes" for `seconds`, not rounded to tenths.

    For a length beside its limit: 4.01 hours must not read as "4 hours".
    """
    length, unit = (seconds / 3600, "hour") if seconds >= 3600 else (seconds / 60, "minute")
    return f"{length:g} {unit}{'' if length == 1 else 's'}"


def format_hours(seconds: float) -> str:
    """Return "8 hours" or "1.5 hours" for `seconds`, or "20 minutes" below an hour."""
    if seconds < 3600:
        return count(round(seconds / 60), "minute")
    hours = f"{seconds / 3600:.1f}".removesuffix(".0")
    return f"{hours} hour{'' if hours == '1' else 's'}"
