"""What one user may ask for: the site's limits, those of groups, and Slurm's accounting."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dsportal.amounts import SECONDS_PER_HOUR, count, format_duration
from dsportal.slurm.errors import OptionsError
from spawner.errors import BudgetError
from spawner.options.budget_messages import ChargedBudgets
from spawner.options.job_options import JobOptions, most_gpus
from spawner.options.limit_messages import OwnedLimits
from spawner.options.limits import Limits
from spawner.options.option_table import plain_options
from spawner.options.request import SessionRequest, resources_per_gpu
from spawner.options.traits import SpawnerTraits
from spawner.settings.choices import ChoiceSettings
from spawner.settings.resources import ResourceSettings
from spawner.settings.traits import read_traits
from spawner.slurm.associations import Associations, most_generous
from spawner.slurm.budgets import Budgets
from spawner.slurm.catalog import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What one user may ask for.

    Attributes:
        traits: The operator's settings.
        user: Empty for what everybody may have.
        groups: Names of the user's UNIX groups.
        associations: Slurm's accounting of all users; without any there are no limits of it.
        budgets: Those of all users.
    """

    traits: SpawnerTraits
    user: str = ""
    groups: tuple[str, ...] = ()
    associations: Associations = field(default_factory=Associations)
    budgets: Budgets = field(default_factory=Budgets)

    @property
    def granted(self) -> Limits:
        """The site's limits for the user, without Slurm's accounting."""
        return read_limits(self.traits, self.groups, user=self.user)

    @property
    def told(self) -> dict[str, object]:
        """What a session is told of the granted limits, as an entry of `group_limits`."""
        granted = self.granted
        # The site's own list is that of the form.
        is_own = granted.partitions != read_limits(self.traits).partitions
        told = {
            "max_gpus": granted.max_gpus,
            "max_hours": granted.max_walltime_s / SECONDS_PER_HOUR,
            "partitions": list(granted.partitions) if is_own else None,
        }
        return {name: limit for name, limit in told.items() if limit is not None}

    @property
    def limits(self) -> Limits:
        """The user's limits before account, partition and QOS are chosen.

        They are those of the most generous choice, without accounts and QOS that Slurm would
        refuse.
        """
        limits = self._known(self.granted)
        # The first account and QOS are those of a user who names none.
        choices = itertools.product(
            (self.traits.req_account or None, *limits.names("account")),
            limits.partitions or (None,),
            (self.traits.req_qos or None, *limits.names("qos")),
        )
        ceilings = [
            self.associations.ceiling(self.user, account=account, partition=partition, qos=qos)
            for account, partition, qos in choices
        ]
        return limits.under(most_generous(ceilings))

    def limits_with(self, options: JobOptions, partition: str | None) -> Limits:
        """Return the user's limits with the account and QOS of a request, in a partition.

        `partition` is that of the job; None for Slurm's default.
        """
        ceiling = self.associations.ceiling(
            self.user,
            account=options.name("account") or self.traits.req_account or None,
            partition=partition,
            qos=options.name("qos") or self.traits.req_qos or None,
        )
        return self._known(self.granted).under(ceiling)

    def owned(self, options: JobOptions) -> OwnedLimits:
        """Return whose limits are which; of the options, account, partition and QOS matter."""
        return OwnedLimits(
            site=read_limits(self.traits),
            groups=self.granted,
            own=self.limits_with(options, options.partition),
            charged=self.charged(options, options.partition),
        )

    def charged(self, options: JobOptions, partition: str | None) -> ChargedBudgets:
        """Return the budgets of a request in a partition; None is Slurm's default."""
        account = self.account(options.name("account")) or ""
        rows = self.associations.matching(self.user, account=account, partition=partition)
        # Of several associations Slurm does not say which one it charges.
        first = rows[0].first_qos if len(rows) == 1 else ""
        return ChargedBudgets.of_job(
            self.budgets,
            user=self.user,
            account=account,
            partition=partition or "",
            qos=options.name("qos") or self.traits.req_qos or first,
        )

    def account(self, name: str | None = None) -> str | None:
        """Return the Slurm account of a job that names this one, or none; None if not known."""
        rows = self.associations.by_user.get(self.user, ())
        own = next((row.account for row in rows if row.is_default), None)
        return name or self.traits.req_account or own

    def check(self, user_options: Mapping[str, object], catalog: Catalog) -> SessionRequest:
        """Return the request in the options of a form or of REST.

        `user_options` are as they were typed, by key; `catalog` is what the cluster has now.
        """
        # For the text of an error only; the limits are checked below.
        most = most_gpus(catalog, self.limits)
        options = JobOptions.parse(user_options, max_gpus=most)
        partition = options.choose_partition(catalog, self.granted)
        limits = self.limits_with(options, partition)
        shape = resources_per_gpu(
            self.traits,
            catalog,
            n_gpus=options.n_gpus,
            partition=partition,
            gpu_type=options.gpu_type,
        )
        resources = options.check(catalog, limits, shape)
        # Its time and size are fixed, so none of the rules below concern it.
        if options.is_rescue:
            return SessionRequest.rescue(self.traits, options, partition)
        most_s = catalog.max_walltime_s(partition)
        if most_s is not None and (options.walltime_s or 0) > most_s:
            raise OptionsError(
                f"You asked for {format_duration(options.walltime_s or 0)}; a session"
                f"{f' in the partition {partition}' if partition else ''} may last at most "
                f"{format_duration(most_s)}. Ask for a shorter one."
            )
        # A length that the user named fits the partition by now; the site's default may not.
        walltime_s = options.walltime_s or limits.first_walltime_s
        walltime_s = walltime_s if most_s is None else min(walltime_s, most_s)
        charged = self.charged(options, partition)
        if refusal := charged.why_not(resources, options.gpu_type, walltime_s):
            asked = f"{count(options.n_gpus, 'GPU')} for {format_duration(walltime_s)}"
            raise BudgetError(f"You asked for {asked}. {refusal}")
        return SessionRequest(
            options=options,
            resources=resources,
            partition=partition,
            walltime_s=walltime_s,
        )

    def _known(self, limits: Limits) -> Limits:
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


def read_limits(traits: SpawnerTraits, groups: Iterable[str] = (), *, user: str = "") -> Limits:
    """Return the limits of the site, lowered by those of the user, or else of the groups.

    Args:
        user: Name of the user; empty for what everybody may have.
    """
    resources, choices = read_traits(traits, ResourceSettings), read_traits(traits, ChoiceSettings)
    limits = Limits(
        # 0 is "not set", since TOML has no null.
        max_gpus=choices.max_gpus or None,
        min_gpus=0 if choices.allow_cpu_only else 1,
        default_walltime_s=resources.walltime_s,
        max_walltime_s=resources.max_walltime_s,
        partitions=tuple(traits.partitions or [traits.req_partition] * bool(traits.req_partition)),
        gpu_types=choices.gpu_types,
        listed={key: tuple(getattr(traits, one.listed_in)) for key, one in plain_options()},
    )
    if user in traits.user_limits:
        return limits.for_groups([user], traits.user_limits)
    return limits.for_groups(groups, traits.group_limits)
