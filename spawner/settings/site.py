"""The table [site] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from dataclasses import dataclass
from pathlib import Path

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class SiteSettings:
    """How the portal presents itself."""

    name: str = setting(
        "Name of the portal on every page.", default="Data Scientist Portal", trait=None
    )
    support: str = setting(
        "Contact that the login page and error pages show: an address or a short sentence.",
        default="",
        example="help@example.com",
        trait=None,
    )
    announcements: Path = setting(
        "File with the site's announcements, read again whenever it changes. It need not exist.",
        default=Path("/etc/data-scientist-portal/announcements.toml"),
        trait=None,
    )
    simulated_gpus: bool = setting(
        "Whether the GPUs are simulated: Slurm allocates them, but they compute nothing. Every page"
        " then says so.",
        default=False,
    )
