"""Jobs that run again every day or week: when, and the mark that Slurm keeps in their comment."""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from dsportal.slurm.errors import OptionsError

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
EVERY = ("day", *DAYS)
_CLOCK = re.compile(r"(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])", re.ASCII)
_MARK = re.compile(
    r"dsportal: every (?P<every>[a-z]+) at (?P<clock>[0-9:]+) \((?P<series>[a-z0-9]{4,16})\)",
    re.ASCII,
)
# As job files have it.
_OPTION = re.compile(r'^#SBATCH "--comment=([^"]*)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """When a job runs again.

    Attributes:
        every: One of EVERY.
        at: By the clock of the cluster.
        series: What the jobs that follow each other share, and no others.
    """

    every: str
    at: time
    series: str

    @property
    def words(self) -> str:
        """Such as "every day at 04:00" or "every Monday at 04:00"."""
        day = self.every if self.every == "day" else self.every.capitalize()
        return f"every {day} at {self.at:%H:%M}"

    @property
    def mark(self) -> str:
        """What the comment of its jobs has."""
        return f"dsportal: every {self.every} at {self.at:%H:%M} ({self.series})"

    def after(self, now: datetime) -> datetime:
        """Return the first start after `now`; both are local times without a zone.

        The clock counts, not the hours between: where it is put on or back, a day has 23 or 25. A
        time that it leaves out comes an hour later, of one that it has twice the first counts.
        """
        first = datetime.combine(now.date(), self.at)
        for n_days in range(9):
            day = first + timedelta(days=n_days)
            is_day = self.every in {"day", DAYS[day.weekday()]}
            if is_day and day.timestamp() > now.timestamp():
                return datetime.fromtimestamp(day.timestamp())
        raise AssertionError("a week has each of its days")


def parse_again(every: str, at: str, series: str) -> Again:
    """Return what an order says.

    Args:
        every: One of EVERY.
        at: Such as "04:00".

    Raises:
        OptionsError: If it is no day, or no time.
    """
    if every not in EVERY:
        raise OptionsError(f"You asked for every {every!r}. Choose one of {', '.join(EVERY)}.")
    return Again(every=every, at=parse_clock(at), series=series)


def parse_clock(text: str) -> time:
    """Return a time of day such as "04:00"."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise OptionsError(f"You asked for the time {text!r}. Write it such as 04:00.")
    return time(int(match["hour"]), int(match["minute"]))


def new_series() -> str:
    """Return what nothing else has, for `Again`."""
    return secrets.token_hex(4)


def find_mark(script: str) -> Again | None:
    """Return what the comment in a job file says; None if the job does not run again."""
    match = _OPTION.search(script)
    return None if match is None else read_mark(match[1])


def read_mark(comment: str) -> Again | None:
    """Return what a job's comment says; None if the job does not run again."""
    match = _MARK.fullmatch(comment)
    if match is None:
        return None
    try:
        return parse_again(match["every"], match["clock"], match["series"])
    except OptionsError:
        return None
