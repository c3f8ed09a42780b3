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


def format_bytes(n_bytes: float) -> str:
    """Return "1.5 TB", "48 GB" or "300 MB", in units of 1,024 as df prints them.

    Args:
        n_bytes: Bytes, 0 or more.

    Returns:
        The words.
    """
    amount, units = n_bytes / 1024**2, ["MB", "GB", "TB", "PB"]
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.0f} {units[0]}" if amount >= 10 else f"{amount:.1f} {units[0]}"


def format_gpu_hours(hours: float) -> str:
    """Return "12.5 GPU hours", or "no GPU hours yet".

    Args:
        hours: GPUs times hours, 0 or more.

    Returns:
        The words.
    """
    if hours == 0:
        return "no GPU hours yet"
    if hours < 0.1:
        return "less than 0.1 GPU hours"
    amount = f"{hours:.1f}" if hours < 100 else f"{hours:,.0f}"
    return f"{amount} GPU hours"


def format_age(seconds: float) -> str:
    """Return "3 days", "2 h 5 min" or "less than a minute".

    Args:
        seconds: How long something has lasted, 0 or more.

    Returns:
        The words.
    """
    days = int(seconds // 86_400)
    return _count(days, "day") if days >= 2 else format_time_left(seconds)


def format_moment(at: float) -> str:
    """Return "20 November, 14:20" in the hub's time zone.

    Args:
        at: Seconds since 1970 (UTC).

    Returns:
        The words.
    """
    return f"{datetime.fromtimestamp(at).astimezone():%d %B, %H:%M}".lstrip("0")
