"""The table [mlflow] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_MINUTE
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class MlflowSettings:
    """MLflow in sessions: kernels log to the folder `~/mlruns`, and pages show folders of runs."""

    enabled: bool = setting(
        "Whether kernels log there, and sessions offer the pages on nodes that have MLflow's"
        " environment, which 'deploy/environments/build mlflow' makes.",
        default=True,
    )
    limit: int = setting(
        "Most pages of MLflow at once in a session. Each takes about 0.5 GB of its memory.",
        default=4,
        lowest=1,
        highest=64,
    )
    idle_minutes: float = setting(
        "Idle minutes after which a page is stopped. Opening it again restarts it.",
        default=60.0,
        lowest=1,
        highest=10080,
    )

    @property
    def idle_s(self) -> float:
        """Idle seconds after which one is stopped."""
        return self.idle_minutes * SECONDS_PER_MINUTE
