"""The table [clock] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_MINUTE
from spawner.settings.schema import setting

MOST_WARNING_MINUTES = 24 * 60


def check_minutes(minutes: tuple[int, ...]) -> str:
    """Refuse minutes of warnings that repeat, or are outside 1 minute to 1 day."""
    is_in_range = all(0 < one <= MOST_WARNING_MINUTES for one in minutes)
    is_right = is_in_range and len(set(minutes)) == len(minutes)
    return "" if is_right else f"give different whole numbers from 1 to {MOST_WARNING_MINUTES}."


@dataclass(frozen=True, kw_only=True)
class ClockSettings:
    """The time left, as sessions show it."""

    warnings_minutes: tuple[int, ...] = setting(
        "Minutes before the end at which every open tab warns. At the last one all open notebooks"
        " are saved.",
        default=(30, 15, 5),
        check=check_minutes,
        trait=None,
    )
    # 65535 is the most that sbatch --signal takes.
    slurm_warning_s: int = setting(
        "Seconds before the end at which Slurm sends the job its warning signal, at which all open "
        "notebooks are saved again. 0 for never. Slurm may send it up to a minute earlier.",
        default=120,
        lowest=0,
        highest=65535,
    )

    @property
    def warnings_s(self) -> tuple[int, ...]:
        """The warnings in seconds before the end, the earliest first."""
        return tuple(sorted((m * SECONDS_PER_MINUTE for m in self.warnings_minutes), reverse=True))
