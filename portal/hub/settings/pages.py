"""The table [pages] of portal.toml: home page and cluster page."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dsportal.amounts import SECONDS_PER_HOUR
from portal.hub.settings.schema import setting


@dataclass(frozen=True, slots=True, kw_only=True)
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
