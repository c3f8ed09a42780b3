"""The table [slurm] of portal.toml: how often Slurm is queried, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass

from portal.hub.settings.schema import setting
from spawner.defaults import DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings:
    """How often Slurm is queried, and how long it may take. One query is for all sessions."""

    watch_waiting_s: float = setting(
        "Seconds between two queries while a session waits or starts.",
        default=DEFAULTS.watch_waiting_s,
        lowest=0.5,
        highest=300,
    )
    watch_running_s: float = setting(
        "Seconds between two queries otherwise.",
        default=DEFAULTS.watch_running_s,
        lowest=1,
        highest=300,
    )
    timeout_s: float = setting(
        "Seconds after which a query is abandoned. That ends no session.",
        default=DEFAULTS.slurm_timeout_s,
        lowest=1,
        highest=120,
    )
    running_start_timeout_s: int = setting(
        "Seconds from the moment a session's job runs until its server has to answer. Time in the"
        " queue does not count, and has no limit.",
        default=DEFAULTS.running_start_timeout_s,
        lowest=1,
        highest=3600,
    )
