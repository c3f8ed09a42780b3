"""Reservations: start and end of each, from scontrol."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

RESERVATIONS_ARGV = ("scontrol", "--oneliner", "show", "reservation")
_LINE = re.compile(
    r"^ReservationName=(?P<name>\S+) StartTime=(?P<start>\S+) EndTime=(?P<end>\S+)", re.MULTILINE
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
    for match in _LINE.finditer(text):
        try:
            found[match["name"]] = Reservation(
                name=match["name"],
                starts_at=datetime.fromisoformat(match["start"]),
                ends_at=datetime.fromisoformat(match["end"]),
            )
        except ValueError:
            continue
    return found
