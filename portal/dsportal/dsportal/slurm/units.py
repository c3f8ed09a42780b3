"""Converts Slurm's texts for time and memory to seconds and MiB, and back."""

import math
import re

from dsportal.slurm.errors import OptionsError

_WALLTIME = re.compile(
    r"(?:(?P<days>[0-9]{1,6})-(?P<day_hours>[0-9]{1,9})(?::(?P<day_minutes>[0-9]{1,9}))?"
    r"(?::(?P<day_seconds>[0-9]{1,9}))?"
    r"|(?P<hours>[0-9]{1,9}):(?P<hour_minutes>[0-9]{1,9}):(?P<hour_seconds>[0-9]{1,9})"
    r"|(?P<minutes>[0-9]{1,9})(?::(?P<seconds>[0-9]{1,9}))?)"
)
_NO_LIMIT = frozenset({"unlimited", "infinite", "-1"})
_SHORTEST_WALLTIME_S = 60

_MEMORY = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,6})?)(?P<unit>[KMGTP]?)", re.IGNORECASE)
_MIB = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}


def parse_walltime(text: str) -> int:
    """Return the seconds of a Slurm time limit.

    Args:
        text: One of minutes, minutes:seconds, hours:minutes:seconds, days-hours,
            days-hours:minutes, days-hours:minutes:seconds. "30" is 30 minutes. As in Slurm a
            part may exceed the next larger unit: "90:00" is 90 minutes.

    Returns:
        Whole seconds, 60 or more.

    Source:
        sbatch(1), --time, Slurm 22.05 to 25.11. A limit of 0 means "no limit" there, so it is
        refused here; `parse_time_limit` reads limits that may be absent.
    """
    match = _WALLTIME.fullmatch(text.strip())
    if match is None:
        raise OptionsError(
            f"The time {text[:40]!r} cannot be read. Write hours:minutes:seconds such as "
            "08:00:00, days-hours:minutes:seconds such as 1-00:00:00, or a number of minutes."
        )
    walltime_s = _parse_seconds(match)
    if walltime_s < _SHORTEST_WALLTIME_S:
        raise OptionsError(
            f"The time {text[:40]!r} is under one minute, the shortest that Slurm allows. "
            "Ask for one minute or more."
        )
    return walltime_s


def parse_time_limit(text: str) -> int | None:
    """Return the seconds of a limit that Slurm prints, or None for no limit.

    Args:
        text: A walltime, or "UNLIMITED", "infinite" or "-1" in any case.

    Raises:
        OptionsError: If the text is neither.

    Source:
        sinfo(1), %l, and squeue(1), %l, Slurm 22.05 to 25.11.
    """
    if text.strip().lower() in _NO_LIMIT:
        return None
    return parse_walltime(text)


def parse_time_left(text: str) -> int | None:
    """Return the seconds that a job has left.

    Args:
        text: A time such as "1-02:03:04", "2:03:04" or "0:30", or one of Slurm's words.

    Returns:
        Whole seconds, 0 also for a job that is over its limit; None if there is no limit.

    Source:
        squeue(1), %L, and secs2time_str() of Slurm 22.05 to 25.11, which writes "INVALID" for
        negative times.
    """
    match = _WALLTIME.fullmatch(text.strip())
    if match is None:
        return 0 if text.strip() == "INVALID" else None
    return _parse_seconds(match)


def parse_uid(text: str) -> int:
    """Return the uid that squeue prints.

    Raises:
        ValueError: If it is not a number.

    Source:
        squeue(1), %U; Slurm 22.05 prints a uid from 2 ** 31 on as a negative number.
    """
    return int(text) % 2**32


def format_walltime(walltime_s: int) -> str:
    """Return a time limit in Slurm's format: "08:00:00", or "1-00:00:00" from one day on.

    `parse_walltime` reads it back exactly.

    Args:
        walltime_s: Whole seconds, 60 or more.

    Source:
        sbatch(1), --time, the forms hours:minutes:seconds and days-hours:minutes:seconds.
    """
    if walltime_s < _SHORTEST_WALLTIME_S:
        raise OptionsError(
            f"A time of {walltime_s} seconds is under one minute, the shortest that Slurm allows. "
            "Ask for one minute or more."
        )
    days, rest = divmod(walltime_s, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, seconds = divmod(rest, 60)
    clock = f"{hours:02}:{minutes:02}:{seconds:02}"
    return f"{days}-{clock}" if days else clock


def parse_memory(text: str) -> int:
    """Return a Slurm memory size in whole MiB, rounded up.

    Args:
        text: A number followed by K, M, G, T or P, in any case; without a unit it is MiB. Slurm
            prints fractions ("1.5G"), so they are read too.

    Raises:
        OptionsError: If the text is not such a number.

    Source:
        sbatch(1), --mem, and squeue(1), %m, Slurm 22.05 to 25.11. The units are powers of 1,024.
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise OptionsError(
            f"The memory {text[:40]!r} cannot be read. "
            "Write a number and its unit, such as 48G or 49152M."
        )
    number, unit = match["number"], match["unit"].upper()
    # Without a float in between, so that large sizes stay exact.
    if "." not in number and unit != "K":
        return int(number) * int(_MIB[unit])
    return math.ceil(float(number) * _MIB[unit])


def format_memory(memory_mib: int) -> str:
    """Return a memory size in Slurm's format, such as "49152M".

    Args:
        memory_mib: Whole MiB, 1 or more. In Slurm 0 means "all memory of the node".

    Source:
        sbatch(1), --mem, Slurm 22.05 to 25.11.
    """
    if memory_mib < 1:
        raise OptionsError(f"A memory of {memory_mib} MiB cannot be asked for. Ask for 1 or more.")
    return f"{memory_mib}M"


def _parse_seconds(match: re.Match[str]) -> int:
    part = {name: int(digits or 0) for name, digits in match.groupdict().items()}
    return (
        part["days"] * 86_400
        + (part["day_hours"] + part["hours"]) * 3_600
        + (part["day_minutes"] + part["hour_minutes"] + part["minutes"]) * 60
        + (part["day_seconds"] + part["hour_seconds"] + part["seconds"])
    )
