"""What one user may ask of one cluster: its limits, and when a session would start there."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spawner.errors import BudgetError
from spawner.forecast.forecaster import Forecast
from spawner.forecast.query import JOB_NAME, ForecastQuery, forecast_query
from spawner.options.budget_messages import fair_share_words
from spawner.options.job_options import JobOptions, most_gpus, offered_gpu_types
from spawner.options.limit_messages import OwnedLimits
from spawner.options.limits import Limits
from spawner.options.offer import Offer
from spawner.options.request import SessionRequest
from spawner.options.traits import SpawnerTraits
from spawner.session.cluster import Cluster
from spawner.session.job_plan import make_plan
from spawner.session.session import job_comment
from spawner.settings.choices import ChoiceSettings
from spawner.settings.slurm import SlurmSettings
from spawner.settings.traits import read_traits
from spawner.slurm.associations import Associations
from spawner.slurm.catalog import Catalog
from spawner.slurm.job_script import JobPlan
from spawner.slurm.scontrol import Reservation

# A start does not wait for an old Slurm that is slow to add up; it then goes by older numbers.
BUDGETS_WAIT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOffer:
    """What a user may ask of a cluster.

    Attributes:
        traits: The operator's settings for this cluster.
        groups: Names of the user's groups.
    """

    cluster: Cluster
    traits: SpawnerTraits
    user: str
    groups: tuple[str, ...]

    @property
    def title(self) -> str:
        """Name of the cluster on pages."""
        return read_traits(self.traits, SlurmSettings).title

    @property
    def limits(self) -> Limits:
        """What the user may ask for, over all choices of account, partition and QOS."""
        return self.offer().limits

    def offer(self, associations: Associations | None = None) -> Offer:
        """Return the limits by these associations; None for the last known ones."""
        return Offer(
            traits=self.traits,
            user=self.user,
            groups=self.groups,
            associations=self.cluster.associations if associations is None else associations,
            budgets=self.cluster.budgets,
        )

    @property
    def most_gpus(self) -> int | None:
        """GPUs of the largest session that the user can have; None if nothing is known yet."""
        catalog = self.cluster.catalog.latest()
        return None if catalog is None else most_gpus(catalog, self.limits)

    async def read_catalog(self) -> Catalog:
        """Return the cluster's partitions, nodes and GPUs, a few seconds old at most."""
        return await self.cluster.catalog.get()

    def owned_limits(self, options: JobOptions) -> OwnedLimits:
        """Return the limits of the site, of the user's groups and of Slurm's accounting.

        Of the options only account, partition and QOS matter.
        """
        return self.offer().owned(options)

    async def knows_limits(self, patience_s: float) -> bool:
        """Return whether the limits of Slurm's accounting are among the user's limits.

        They are not in the first seconds after a start of the hub. True as well if accounting
        does not answer. Waits `patience_s` seconds at most.
        """
        knows = await asyncio.gather(
            self.cluster.knows_associations(patience_s), self.cluster.knows_budgets(patience_s)
        )
        return all(knows)

    async def describe_budgets(self, patience_s: float) -> tuple[str, ...]:
        """Return what is left of the budgets of the user's usual job, and the fair share.

        Each is a sentence; none without budgets. Waits `patience_s` seconds at most.
        """
        await self.knows_limits(patience_s)
        offer = self.offer()
        share = self.cluster.budgets.fair_share(self.user, offer.account() or "")
        return tuple(
            filter(None, (offer.charged(JobOptions(), None).left, fair_share_words(share)))
        )

    async def read_reservations(self) -> Mapping[str, Reservation]:
        """Return the reservations that the site offers and Slurm knows, by name."""
        names = read_traits(self.traits, ChoiceSettings).reservations
        if not names:
            return {}
        known = await self.cluster.reservations.get()
        return {name: known[name] for name in names if name in known}

    def account_of(self, options: JobOptions) -> str | None:
        """Return the Slurm account of a session; None if it is not known."""
        return self.offer().account(options.name("account"))

    def find_alternatives(self, options: JobOptions) -> dict[str, Any]:
        """Return what of a session's request its user could have chosen otherwise, by field."""
        limits, catalog = self.limits, self.cluster.catalog.latest()
        types = set() if catalog is None else set(offered_gpu_types(catalog, limits))
        return {
            "gpu_type": options.gpu_type or "",
            "has_other_gpu_type": bool(types - {options.gpu_type}) if types else None,
            "has_other_partition": len(limits.partitions) > 1,
        }

    async def forecast(self, user_options: Mapping[str, object]) -> Forecast | None:
        """Return when a session with these `user_options` would start; nothing is submitted.

        The answer is some minutes old at most; None if it is not known.
        """
        catalog = await self.read_catalog()
        plan = self.make_plan(self.offer().check(user_options, catalog), JOB_NAME)
        return await self.cluster.forecaster.forecast(self.forecast_query(plan))

    def make_plan(self, request: SessionRequest, job_name: str) -> JobPlan:
        """Return the plan of the job for a request."""
        comment = job_comment(self.cluster.hub)
        return make_plan(self.traits, request, job_name=job_name, comment=comment)

    def forecast_query(self, plan: JobPlan) -> ForecastQuery:
        """Return the question to Slurm when a job would start."""
        return forecast_query(plan, self.offer())

    async def check(self, user_options: Mapping[str, object]) -> SessionRequest:
        """Return the request in `user_options`, as they were typed, by the newest limits."""
        self.cluster.ask_ahead()
        catalog = await self.read_catalog()
        associations = await self.cluster.read_associations()
        await self.cluster.knows_budgets(BUDGETS_WAIT_S)
        try:
            return self.offer(associations).check(user_options, catalog)
        except BudgetError:
            # It may have been raised, or renewed, since the last look.
            await self.cluster.read_budgets_again(BUDGETS_WAIT_S)
            return self.offer(associations).check(user_options, catalog)
