"""What scontrol prints about a job, and about reservations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dsportal.slurm.states import parse_state
from dsportal.slurm.units import parse_time_left
from spawner.slurm.jobs import JobEnd, JobKey, known_text, parse_exit_code

RESERVATIONS_ARGV = ("scontrol", "--oneliner", "show", "reservation")
_RESERVATION = re.compile(
    r"^ReservationName=(?P<name>\S+) StartTime=(?P<start>\S+) EndTime=(?P<end>\S+)", re.MULTILINE
)
_JOB_FIELD = re.compile(
    r"(?:^|\s)(JobId|JobName|UserId|JobState|Reason|ExitCode|TimeLimit|BatchHost)="
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """One reservation; its times are local to this host, without a zone."""

    name: str
    starts_at: datetime
    ends_at: datetime


def parse_reservations(text: str) -> Mapping[str, Reservation]:
    """Return the reservations in the output of `RESERVATIONS_ARGV`, by name.

    One whose times cannot be read is left out.

    Source:
        scontrol(1), show reservation, Slurm 22.05 to 25.11; seen on 22.05.8.
    """
    found = {}
    for match in _RESERVATION.finditer(text):
        try:
            found[match["name"]] = Reservation(
                name=match["name"],
                starts_at=datetime.fromisoformat(match["start"]),
                ends_at=datetime.fromisoformat(match["end"]),
            )
        except ValueError:
            continue
    return found


def parse_scontrol_job(text: str) -> dict[JobKey, JobEnd]:
    """Return the job in the output of "scontrol --oneliner show job".

    Args:
        text: One line of NAME=value; a job name with spaces is read whole.

    Returns:
        The job with its state; empty if the text holds no job.

    Source:
        scontrol(1), show job, Slurm 22.05 to 25.11.
    """
    ends = {}
    for line in text.splitlines():
        parts = _JOB_FIELD.split(line)
        # A later field of the same name would come from free text such as Comment.
        fields: dict[str, str] = {}
        for name, value in zip(parts[1::2], parts[2::2], strict=True):
            fields.setdefault(name, value)
        if not fields.get("JobId", "").split(" ", 1)[0].isdecimal():
            continue
        first_words = {name: (value.split() or [""])[0] for name, value in fields.items()}
        exit_code, signal = parse_exit_code(first_words.get("ExitCode", ""))
        key = JobKey(
            job_id=int(first_words["JobId"]),
            user=first_words.get("UserId", "").partition("(")[0],
            name=fields.get("JobName", "").strip(),
        )
        ends[key] = JobEnd(
            state=parse_state(first_words.get("JobState", "")),
            exit_code=exit_code,
            signal=signal,
            node=known_text(first_words.get("BatchHost", "")),
            reason=first_words.get("Reason", ""),
            time_limit_s=parse_time_left(first_words.get("TimeLimit", "")),
        )
    return ends
