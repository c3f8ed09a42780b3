"""The table [runs] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import MIB_PER_GIB
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The folders of runs in users' homes, `~/portal-runs`.

    A session removes the oldest ones when it starts, and every hour. It keeps runs that have not
    ended, and those that their users have named.
    """

    most_gib: float = setting(
        "Largest size of one user's folders together, in GiB. 0 removes none.",
        default=0.0,
        lowest=0,
        highest=1_000_000,
    )
    newest_kept: int = setting(
        "Number of newest runs that are kept regardless of their size.",
        default=20,
        lowest=1,
        highest=100_000,
    )

    @property
    def most_mib(self) -> int:
        """Largest size in MiB; 0 for no limit."""
        return round(self.most_gib * MIB_PER_GIB)
