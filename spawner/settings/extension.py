"""The table [extension] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_HOUR
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class ExtensionSettings:
    """How much longer a running session may continue. Needs the second rule of sudo."""

    hours: float = setting(
        "Hours that the Extend button adds. 0 offers no extension.",
        default=0.0,
        lowest=0,
        highest=8760,
        trait="extension_hours",
    )
    # At least a minute, the unit of Slurm's time limits.
    most_hours: float = setting(
        "Longest session, its extensions included, in hours. Limits of Slurm's partitions,"
        " accounts and qualities of service count too.",
        default=24.0,
        lowest=1 / 60,
        highest=8760,
        trait="max_extended_hours",
    )
    most_times: int = setting(
        "Most extensions of one session.",
        default=1,
        lowest=0,
        highest=1000,
        trait="max_extensions",
    )
    while_others_wait: bool = setting(
        "Whether a session may be extended while other jobs wait for its partition.",
        default=False,
        trait="extend_while_others_wait",
    )
    slurm_user: str = setting(
        "Slurm's own account, SlurmUser in slurm.conf, which changes the time limit.",
        default="slurm",
    )

    @property
    def step_s(self) -> int:
        """What one extension adds, in seconds."""
        return round(self.hours * SECONDS_PER_HOUR)

    @property
    def most_s(self) -> int:
        """Longest session with its extensions, in seconds."""
        return round(self.most_hours * SECONDS_PER_HOUR)
