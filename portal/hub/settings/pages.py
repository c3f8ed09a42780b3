"""The tables [pages] and [culler] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dsportal.amounts import SECONDS_PER_HOUR
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class PageSettings:
    """The home page and the cluster page."""

    announcements: Path = setting(
        "File with the site's announcements, read again whenever it changes. It need not exist.",
        default=Path("/etc/data-scientist-portal/announcements.toml"),
    )
    storage_warning_percent: float = setting(
        "Use of a folder, in percent, from which the home page warns that it is almost full.",
        default=90.0,
        lowest=1,
        highest=100,
    )
    # Not below 6 minutes: notebook servers report activity every five.
    idle_hours: float = setting(
        "Hours without activity of its notebook server after which the cluster page calls a"
        " session idle.",
        default=1.0,
        lowest=0.1,
        highest=8760,
    )
    sessions_per_user: int = setting(
        "Most sessions of one user at a time. If 2 or more, the home page lets users add named"
        " sessions.",
        default=1,
        lowest=1,
        highest=100,
    )

    @property
    def idle_s(self) -> float:
        """Seconds without activity after which a session counts as idle."""
        return self.idle_hours * SECONDS_PER_HOUR


@dataclass(frozen=True, kw_only=True)
class CullerSettings:
    """Sessions that nobody uses, stopped from outside by a separate service.

    It relies on the activity of kernels and users that notebook servers report to the hub.
    """

    idle_hours: float = setting(
        "Hours without activity after which a session is stopped; 0 for never. A kernel that"
        " computes counts as activity.",
        default=0.0,
        lowest=0,
        highest=8760,
    )
    every_minutes: float = setting(
        "Minutes between two checks of all sessions.", default=10.0, lowest=1, highest=1440
    )
