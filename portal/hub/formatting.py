"""Formats amounts for pages: GPUs, cores, memory, moments; durations are in dsportal.amounts."""

from datetime import datetime

from dsportal.amounts import MIB_PER_GIB, count


def format_gpus(n_gpus: int) -> str:
    """Return "1 GPU", "2 GPUs" or "no GPU"."""
    if n_gpus == 0:
        return "no GPU"
    return count(n_gpus, "GPU")


def format_partition(cluster: str, partition: str) -> str:
    """Return "gpu", or of a further cluster "volta:gpu": names are those of one cluster alone."""
    return f"{cluster}:{partition}" if cluster else partition


def format_memory(memory_mib: int) -> str:
    """Return "48 GB", or "512 MB" below 1 GiB. Units are binary, named as on memory modules."""
    if memory_mib < MIB_PER_GIB:
        return f"{memory_mib} MB"
    return f"{round(memory_mib / MIB_PER_GIB, 1):g} GB"


def format_clock(moment: datetime, now: datetime) -> str:
    """Return "at 14:20", with the day if it is not today. Both times are in one time zone."""
    if moment.date() == now.date():
        return f"at {moment:%H:%M}"
    return f"on {format_day(moment)} at {moment:%H:%M}"


def format_day(moment: datetime) -> str:
    """Return "Fri 20 Nov"."""
    # %d pads the day with a zero.
    return f"{moment:%a} {moment.day} {moment:%b}"


def format_bytes(n_bytes: float) -> str:
    """Return "1.5 TB", "48 GB" or "300 MB", in units of 1,024 as df prints them."""
    amount, units = n_bytes / 1024**2, ["MB", "GB", "TB", "PB"]
    # At 1000, not at 1024: no amount shows four digits.
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.0f} {units[0]}" if amount >= 10 else f"{amount:.1f} {units[0]}"


def format_gpu_hours(hours: float) -> str:
    """Return GPUs multiplied by `hours` as "12.5 GPU hours", or "no GPU hours yet"."""
    if hours == 0:
        return "no GPU hours yet"
    if hours < 0.1:
        return "less than 0.1 GPU hours"
    amount = f"{hours:.1f}" if hours < 100 else f"{hours:,.0f}"
    return f"{amount} GPU hours"
