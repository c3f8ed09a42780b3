"""Amounts in sentences: counts with their noun, and all durations of hub and spawner."""

import math

# Length of a session, and of a job, that names none.
DEFAULT_HOURS = 8
SECONDS_PER_DAY = 24 * 3600
SECONDS_PER_HOUR = 3600
MIB_PER_GIB = 1024
SECONDS_PER_MINUTE = 60


def count(n: int, noun: str) -> str:
    """Return `n` with its `noun`: "1 job", "2 jobs" or "0 jobs"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def format_duration(seconds: float) -> str:
    """Return `seconds` as the length of something: "8 hours", "1.25 hours" or "20 minutes"."""
    is_long = seconds >= SECONDS_PER_HOUR
    # Hundredths tell apart whole minutes, which Slurm counts in: a length that is just over its
    # limit does not read like the limit.
    length = (
        round(seconds / SECONDS_PER_HOUR, 2) if is_long else round(seconds / SECONDS_PER_MINUTE)
    )
    return f"{length:g} {'hour' if is_long else 'minute'}{'' if length == 1 else 's'}"


def format_time_left(left_s: float) -> str:
    """Return "7 h 40 min", "8 h", "12 min" or "less than a minute", also for a negative time."""
    minutes = int(left_s // SECONDS_PER_MINUTE)
    if minutes < 1:
        return "less than a minute"
    hours, minutes = divmod(minutes, 60)
    parts = (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")
    return " ".join(filter(None, parts))


def format_age(seconds: float) -> str:
    """Return "3 days", "2 h 5 min" or "less than a minute" for something `seconds` old."""
    days = int(seconds // SECONDS_PER_DAY)
    return count(days, "day") if days >= 2 else format_time_left(seconds)


def format_wait(wait_s: float) -> str:
    """Return "1 second", "45 seconds" or "3 minutes", rounded up."""
    seconds = math.ceil(wait_s)
    if seconds < 90:
        return count(seconds, "second")
    return f"{-(-seconds // SECONDS_PER_MINUTE)} minutes"


def format_option_hours(walltime_s: int) -> str:
    """Return a length in hours as the option "hours" is written in requests: "8" or "1.5"."""
    # Four decimals, as many as `JobOptions` reads, so that a length comes back as it was.
    return f"{round(walltime_s / SECONDS_PER_HOUR, 4):g}"
