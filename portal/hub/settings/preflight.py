"""The table [preflight] of portal.toml: checks before a session's job is queued."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from __future__ import annotations

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_HOUR
from portal.hub.formatting import MIB_PER_GIB
from portal.hub.settings.schema import setting
from spawner.client.preflight import OnFailure, Preflight
from spawner.defaults import DEFAULTS

# Only for its defaults, so that each stands in one place.
_CHECKS = Preflight()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightSettings:
    """What is checked on this host, as the user, before a session's job is queued.

    "refuse" keeps the session from starting and says what to do, "warn" only shows a warning.
    """

    home: OnFailure = setting(
        "What to do if the user's home is full, cannot be written or does not respond.",
        default=_CHECKS.home,
    )
    min_free_mib: int = setting(
        "Space that the home needs, in MiB; with less it counts as full.",
        default=_CHECKS.min_free_mib,
        lowest=1,
        highest=1048576,
    )
    isilon: OnFailure = setting(
        "What to do if the shared storage is missing or does not respond. Use off if this host does"
        " not mount it.",
        default=OnFailure.WARN,
    )
    isilon_is_mount: bool = setting(
        "Whether the shared storage has to be the root of a mount: an empty folder in its place"
        " then counts as missing.",
        default=False,
    )
    server: OnFailure = setting(
        "What to do if the program of the notebook server is missing. Use off if only the nodes"
        " have it.",
        default=_CHECKS.server,
    )
    timeout_s: float = setting(
        "Seconds after which storage counts as not responding.",
        default=_CHECKS.timeout_s,
        lowest=0.5,
        highest=10,
    )
    rescue_hours: float = setting(
        "Length of a rescue session, in hours: a small session without a GPU that starts even if"
        " the home is full. 0: none are offered.",
        default=DEFAULTS.rescue_walltime_s / SECONDS_PER_HOUR,
        lowest=0,
        highest=24,
    )
    rescue_cores: int = setting(
        "CPU cores of a rescue session.", default=DEFAULTS.rescue_cores, lowest=1, highest=1024
    )
    rescue_memory_gib: float = setting(
        "Memory of a rescue session, in GiB.",
        default=DEFAULTS.rescue_memory_mib / MIB_PER_GIB,
        lowest=0.25,
        highest=1024,
    )

    @property
    def rescue_s(self) -> int:
        """Length of a rescue session, in seconds."""
        return round(self.rescue_hours * SECONDS_PER_HOUR)

    @property
    def rescue_memory_mib(self) -> int:
        """Memory of a rescue session, in MiB."""
        return round(self.rescue_memory_gib * MIB_PER_GIB)
