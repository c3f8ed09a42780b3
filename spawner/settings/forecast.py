"""The table [forecast] of portal.toml."""

from dataclasses import dataclass

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class ForecastSettings:
    """When a session would start, as Slurm forecasts it (sbatch --test-only)."""

    # Each costs slurmctld about as much as a submission.
    asks_per_minute: int = setting(
        "Most queries to Slurm per minute, over all users. Answers are shared for a minute,"
        " or three while many users ask. 0: the form shows only what is free.",
        default=30,
        lowest=0,
        highest=6000,
        trait="forecasts_per_minute",
    )
    wait_s: float = setting(
        "Longest wait for such answers before the form is shown, in seconds. The page itself fills"
        " in later ones.",
        default=0.3,
        lowest=0,
        highest=10,
        trait="forecast_wait_s",
    )
