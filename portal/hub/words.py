"""Amounts in the words of the pages: GPUs, cores, memory, times."""

from __future__ import annotations

from datetime import datetime

MIB_PER_GIB = 1024
SECONDS_PER_HOUR = 3600
SECONDS_PER_MINUTE = 60


def format_gpus(n_gpus: int) -> str:
    """Return "1 GPU", "2 GPUs" or "no GPU".

    Args:
        n_gpus: GPUs, 0 or more.

    Returns:
        The words.
    """
    if n_gpus == 0:
        return "no GPU"
    return f"{n_gpus} GPU{'s' if n_gpus != 1 else ''}"


def format_cores(n_cores: int) -> str:
    """Return "8 cores".

    Args:
        n_cores: CPU cores, 1 or more.

    Returns:
        The words.
    """
    return f"{n_cores} core{'s' if n_cores != 1 else ''}"


def format_memory(memory_mib: int) -> str:
    """Return "48 GB", as the sizes of memory modules are called.

    Args:
        memory_mib: Memory in MiB.

    Returns:
        The words; below 1 GiB in MB.
    """
    if memory_mib < MIB_PER_GIB:
        return f"{memory_mib} MB"
    return f"{round(memory_mib / MIB_PER_GIB, 1):g} GB"


def format_hours(duration_s: float) -> str:
    """Return "8 hours", "1.5 hours" or "20 minutes".

    Args:
        duration_s: Seconds.

    Returns:
        The words.
    """
    if duration_s < SECONDS_PER_HOUR:
        return _count(round(duration_s / SECONDS_PER_MINUTE), "minute")
    hours = round(duration_s / SECONDS_PER_HOUR, 1)
    return f"{hours:g} hour{'s' if hours != 1 else ''}"


def format_time_left(left_s: float) -> str:
    """Return "7 h 40 min", "12 min" or "less than a minute".

    Args:
        left_s: Seconds; negative counts as 0.

    Returns:
        The words.
    """
    minutes = int(left_s // SECONDS_PER_MINUTE)
    if minutes < 1:
        return "less than a minute"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def format_clock(moment: datetime, now: datetime) -> str:
    """Return "at 14:20", or with the day where that is another one.

    Args:
        moment: The time meant.
        now: The present, in the same time zone.

    Returns:
        The words.
    """
    if moment.date() == now.date():
        return f"at {moment:%H:%M}"
    return f"on {moment:%A, %d %B} at {moment:%H:%M}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' if n != 1 else ''}"
