"""The keys of [preflight] about rescue sessions."""

from dataclasses import dataclass

from dsportal.amounts import MIB_PER_GIB, SECONDS_PER_HOUR
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class RescueSettings:
    """Small sessions without a GPU for cleaning up a full home."""

    rescue_hours: float = setting(
        "Length of a rescue session, in hours: a small session without a GPU that starts even if"
        " the home is full. 0: none are offered.",
        default=1.0,
        lowest=0,
        highest=24,
    )
    rescue_cores: int = setting("CPU cores of a rescue session.", default=1, lowest=1, highest=1024)
    rescue_memory_gib: float = setting(
        "Memory of a rescue session, in GiB.", default=2.0, lowest=0.25, highest=1024
    )

    @property
    def rescue_walltime_s(self) -> int:
        """Length of a rescue session, in seconds."""
        return round(self.rescue_hours * SECONDS_PER_HOUR)

    @property
    def rescue_memory_mib(self) -> int:
        """Memory of a rescue session, in MiB."""
        return round(self.rescue_memory_gib * MIB_PER_GIB)
