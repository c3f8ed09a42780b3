"""The table [culler] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_HOUR
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class CullerSettings:
    """Sessions that nobody uses, stopped from outside by a separate service.

    It relies on the activity of kernels and users that notebook servers report to the hub.
    """

    idle_hours: float = setting(
        "Hours without activity after which a session is stopped. 0 for never. A kernel that"
        " computes counts as activity.",
        default=0.0,
        lowest=0,
        highest=8760,
    )
    every_minutes: float = setting(
        "Minutes between two checks of all sessions.", default=10.0, lowest=1, highest=1440
    )
    # Not below 6 minutes: notebook servers report activity every five.
    label_hours: float = setting(
        "Hours without activity after which the administrators' page calls a session idle.",
        default=1.0,
        lowest=0.1,
        highest=8760,
    )

    @property
    def label_s(self) -> float:
        """Seconds without activity after which a session counts as idle."""
        return self.label_hours * SECONDS_PER_HOUR
