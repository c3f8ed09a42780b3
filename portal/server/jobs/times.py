"""Times and lengths of jobs, as Slurm prints them and as pages show them."""

from datetime import datetime

from dsportal.amounts import SECONDS_PER_MINUTE, count, format_duration
from dsportal.slurm.errors import OptionsError
from dsportal.slurm.listing import Squeue
from dsportal.slurm.units import parse_time_left, parse_time_limit

# Limit of a job, and how long it has run.
TIMES = Squeue("lM")
# From here on a length is said in days.
_HOURS_IN_DAYS = 48


def elapsed_words(text: str) -> str:
    """Return the time that a job has run, such as "45 s"; "" if Slurm knows none."""
    # The same two forms from squeue, 0:05, and from sacct, 00:00:05.
    seconds = parse_time_left(text)
    return "" if seconds is None else _short(seconds)


def limit_words(text: str) -> str:
    """Return a time limit, such as "8 h"; "" for none."""
    try:
        seconds = parse_time_limit(text)
    # Partition_Limit, of sacct.
    except OptionsError:
        return ""
    return "" if seconds is None else _short(seconds)


def check_shorter(walltime_s: int, limit: str, used: str) -> None:
    """Refuse a time limit that is not shorter, or over already.

    Args:
        limit: The one that the job has, as Slurm prints it.
        used: How long it has run, likewise.
    """
    limit_s, used_s = parse_time_limit(limit), parse_time_left(used) or 0
    asked = f"You asked for a time limit of {format_duration(walltime_s)}"
    if limit_s is not None and walltime_s >= limit_s:
        raise OptionsError(
            f"{asked}; the job has {format_duration(limit_s)}, and only administrators can give "
            "it more. Ask for less."
        )
    if walltime_s <= used_s:
        raise OptionsError(f"{asked}; the job has run for longer. Cancel it if it is to end now.")


def parse_time(text: str) -> datetime | None:
    """Return a time that Slurm writes without an offset; None if it knows none."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        return None


def _short(seconds: int) -> str:
    """Return "45 s", "12 min", "8 h", "1 h 2 min" or "9 days", whole minutes from one on."""
    if seconds < SECONDS_PER_MINUTE:
        return f"{seconds} s"
    hours, minutes = divmod(seconds // SECONDS_PER_MINUTE, 60)
    days, hours = divmod(hours, 24) if hours >= _HOURS_IN_DAYS else (0, hours)
    parts = (
        count(days, "day") if days else "",
        f"{hours} h" if hours else "",
        f"{minutes} min" if minutes else "",
    )
    return " ".join(part for part in parts if part)
