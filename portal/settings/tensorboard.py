"""The table [tensorboard] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_MINUTE
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class TensorBoardSettings:
    """TensorBoards that users open in their sessions."""

    limit: int = setting(
        "Most TensorBoards at once in a session. Each takes about 100 MB of its memory.",
        default=8,
        lowest=1,
        highest=64,
    )
    idle_minutes: float = setting(
        "Idle minutes after which a TensorBoard is stopped. Opening its page restarts it.",
        default=60.0,
        lowest=1,
        highest=10080,
    )

    @property
    def idle_s(self) -> float:
        """Idle seconds after which one is stopped."""
        return self.idle_minutes * SECONDS_PER_MINUTE
