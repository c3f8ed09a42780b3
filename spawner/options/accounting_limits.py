"""What Slurm's accounting allows one user, on top of the site's own limits."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from spawner.options.job_options import JobOptions
from spawner.options.limits import Limits
from spawner.options.traits import SpawnerTraits
from spawner.slurm.associations import Associations, most_generous


@dataclass(frozen=True, slots=True)
class AccountingLimits:
    """One user's share of Slurm's accounting.

    Attributes:
        associations: Those of all users.
    """

    user: str = ""
    associations: Associations = field(default_factory=Associations)

    @property
    def default_account(self) -> str | None:
        """The account of jobs that name none; None if it is not known."""
        rows = self.associations.by_user.get(self.user, ())
        return next((row.account for row in rows if row.is_default), None)

    def widest(self, traits: SpawnerTraits, limits: Limits) -> Limits:
        """Return the user's limits before account, partition and QOS are chosen.

        Args:
            traits: The operator's settings.
            limits: The site's limits for the user.

        Returns:
            The limits of the most generous choice, without accounts and QOS that Slurm would
            refuse.
        """
        limits = self._offered(limits)
        # The first account and QOS are those of a user who names none.
        choices = itertools.product(
            (traits.req_account or None, *limits.names("account")),
            limits.partitions or (None,),
            (traits.req_qos or None, *limits.names("qos")),
        )
        ceilings = [
            self.associations.ceiling(self.user, account=account, partition=partition, qos=qos)
            for account, partition, qos in choices
        ]
        return limits.under(most_generous(ceilings))

    def narrowed(
        self, traits: SpawnerTraits, limits: Limits, options: JobOptions, partition: str | None
    ) -> Limits:
        """Return the user's limits with the account, partition and QOS of a request.

        Args:
            traits: The operator's settings.
            limits: The site's limits for the user.
            options: The request.
            partition: Partition of the job; None for Slurm's default.
        """
        ceiling = self.associations.ceiling(
            self.user,
            account=options.name("account") or traits.req_account or None,
            partition=partition,
            qos=options.name("qos") or traits.req_qos or None,
        )
        return self._offered(limits).under(ceiling)

    def _offered(self, limits: Limits) -> Limits:
        # Accounting may hide the user from the hub; sbatch will refuse what is not allowed.
        if not self.associations.by_user.get(self.user):
            return limits
        known = {
            "account": self.associations.accounts(self.user),
            "qos": self.associations.allowed_qos(self.user),
        }
        allowed = {
            key: tuple(name for name in limits.names(key) if name in names)
            for key, names in known.items()
        }
        return replace(limits, listed={**limits.listed, **allowed})
