"""The table [idle] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_MINUTE
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class IdleSettings:
    """Sessions whose GPUs do nothing. A kernel that computes is never ended."""

    after_minutes: float = setting(
        "Minutes without use after which the page warns that the session will be stopped. 0 for "
        "never.",
        default=0.0,
        lowest=0,
        highest=100_000,
    )
    unopened_minutes: float = setting(
        "The same for a session that nobody has opened since its start, if that is sooner. 0: no"
        " sooner than others.",
        default=0.0,
        lowest=0,
        highest=100_000,
    )
    warning_minutes: float = setting(
        "Minutes between the warning and the stop. Any use in this time keeps the session.",
        default=15.0,
        lowest=0.1,
        highest=1440,
    )
    gpu_percent: float = setting(
        "Use of a GPU, in percent, below which it counts as idle.",
        default=5.0,
        lowest=0,
        highest=100,
    )
    cpu_percent: float = setting(
        "Use of the CPU by programs that kernels and terminals started, in percent of one core,"
        " below which they count as idle.",
        default=5.0,
        lowest=0,
        highest=100,
    )

    @property
    def after_s(self) -> float:
        """Seconds without use until the warning; 0 for never."""
        return self.after_minutes * SECONDS_PER_MINUTE

    @property
    def unopened_s(self) -> float:
        """Seconds until the warning for a session that nobody has opened; 0 for no such limit."""
        return self.unopened_minutes * SECONDS_PER_MINUTE

    @property
    def warning_s(self) -> float:
        """Seconds from the warning to the stop."""
        return self.warning_minutes * SECONDS_PER_MINUTE
