"""Reasons shown at disabled choices of the form: whose limit forbids them."""

from dataclasses import dataclass, field

from dsportal.amounts import count, format_duration
from spawner.options.budget_messages import ChargedBudgets
from spawner.options.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedLimits:
    """The limits of one user, each within the one before.

    Attributes:
        site: What everybody may ask for.
        groups: What the user's groups may ask for.
        own: What Slurm's accounting leaves of that.
        charged: The budgets that the user's job is charged to.
    """

    site: Limits
    groups: Limits
    own: Limits
    charged: ChargedBudgets = field(default_factory=ChargedBudgets)

    def why_not_gpus(self, n_gpus: int, gpu_type: str | None = None) -> str:
        """Return why the user cannot have so many GPUs in a session; "" if no limit forbids it."""
        for whose, limits in self._by_owner():
            most = limits.max_gpus_for(gpu_type)
            if most is not None and n_gpus > most:
                return f"The limit of {whose} is {count(most, 'GPU')} in a session."
        return ""

    def why_not_walltime(self, walltime_s: int) -> str:
        """Return why the user cannot have so long a session; "" if no limit forbids it."""
        for whose, limits in self._by_owner():
            if walltime_s > limits.max_walltime_s:
                return f"The limit of {whose} is {format_duration(limits.max_walltime_s)}."
        return ""

    def why_not_partition(self, name: str) -> str:
        """Return why the user cannot choose an offered partition; "" if nothing forbids it."""
        return "" if name in self.groups.partitions else "Your groups may not use it."

    def _by_owner(self) -> tuple[tuple[str, Limits], ...]:
        owner = self.own.set_by or "your account"
        return (("this site", self.site), ("your groups", self.groups), (owner, self.own))
