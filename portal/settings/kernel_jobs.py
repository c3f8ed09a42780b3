"""The table [kernel_jobs] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_HOUR
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class KernelJobSettings:
    """GPUs that belong to a kernel, in a Slurm job of its own."""

    enabled: bool = setting(
        "Whether a notebook's kernel may move to a Slurm job with GPUs. The nodes' firewalls have"
        " to let sessions reach any port of each other.",
        default=True,
    )
    partition: str = setting("Partition of these jobs. Empty: that of the session.", default="")
    hours: float = setting(
        "Length of such a job whose user names none, in hours.",
        default=2.0,
        lowest=1 / 60,
        highest=8760,
    )
    max_hours: float = setting(
        "Longest such job, in hours.", default=24.0, lowest=1 / 60, highest=8760
    )
    variables_gb: float = setting(
        "Most that the variables of a kernel may take in the user's home while it moves, in GB."
        " Larger ones are refused, and the kernel stays.",
        default=20.0,
        lowest=0.0,
        highest=10000,
    )
    variables_minutes: float = setting(
        "Longest time for saving them, in minutes.", default=10.0, lowest=0.1, highest=1440
    )

    @property
    def walltime_s(self) -> int:
        """Length of a job, in seconds."""
        return round(min(self.hours, self.max_hours) * SECONDS_PER_HOUR)
