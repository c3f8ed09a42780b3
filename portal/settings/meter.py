"""The table [meter] of portal.toml."""

from dataclasses import dataclass

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class MeterSettings:
    """The use of GPUs, cores and memory, as sessions show it."""

    interval_s: float = setting(
        "Seconds between two measurements in a session. 0 turns them off, and then no session"
        " counts as idle either.",
        default=5.0,
        lowest=0,
        highest=300,
    )
