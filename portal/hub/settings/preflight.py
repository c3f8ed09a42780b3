"""The table [preflight] of portal.toml: checks before a session's job is queued."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from dataclasses import dataclass

from spawner.client.preflight import OnFailure, Preflight
from spawner.settings.rescue import RescueSettings
from spawner.settings.schema import setting

# Only for its defaults, so that each stands in one place.
_CHECKS = Preflight()


@dataclass(frozen=True, kw_only=True)
class PreflightSettings(RescueSettings):
    """What is checked on this host, as the user, before a session's job is queued.

    "refuse" keeps the session from starting and says what to do, "warn" only shows a warning.
    """

    home: OnFailure = setting(
        "What to do if the user's home is full, cannot be written or does not respond.",
        default=_CHECKS.home,
        trait=None,
    )
    min_free_mib: int = setting(
        "Space that the home needs, in MiB. With less it counts as full.",
        default=_CHECKS.min_free_mib,
        lowest=1,
        highest=1048576,
        trait=None,
    )
    isilon: OnFailure = setting(
        "What to do if the shared storage is missing or does not respond. Use off if this host does"
        " not mount it.",
        default=OnFailure.WARN,
        trait=None,
    )
    isilon_is_mount: bool = setting(
        "Whether the shared storage has to be the root of a mount: an empty folder in its place"
        " then counts as missing.",
        default=False,
        trait=None,
    )
    server: OnFailure = setting(
        "What to do if the program of the notebook server is missing. Use off if only the nodes"
        " have it.",
        default=_CHECKS.server,
        trait=None,
    )
    timeout_s: float = setting(
        "Seconds after which storage counts as not responding.",
        default=_CHECKS.timeout_s,
        lowest=0.5,
        highest=10,
        trait=None,
    )
