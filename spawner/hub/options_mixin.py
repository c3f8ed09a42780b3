"""The spawner's part for forms and REST: what is offered, and what the user asked for."""

import asyncio
from collections.abc import Mapping
from typing import Any

from batchspawner import SlurmSpawner
from jupyterhub.apihandlers.users import UserServerAPIHandler
from traitlets import default

from dsportal.slurm.errors import PortalError
from spawner.errors import BudgetError
from spawner.forecast.forecaster import Forecast
from spawner.forecast.query import JOB_NAME, ForecastQuery, forecast_query
from spawner.options.budget_messages import fair_share_words
from spawner.options.job_options import JobOptions, most_gpus, offered_gpu_types
from spawner.options.limit_messages import OwnedLimits
from spawner.options.limits import Limits
from spawner.options.offer import Offer
from spawner.options.request import SessionRequest, normal_form
from spawner.options.traits import SiteTraits
from spawner.session.cluster import Cluster, shared_cluster
from spawner.session.database import SpawnerDatabase
from spawner.session.job_plan import make_plan
from spawner.session.session import job_comment
from spawner.session.spawn_error import StartFailedError
from spawner.settings.resources import ResourceSettings
from spawner.settings.traits import read_traits
from spawner.slurm.associations import Associations
from spawner.slurm.catalog import Catalog
from spawner.slurm.job_script import JobPlan
from spawner.slurm.resources import ResourcesPerGpu
from spawner.slurm.scontrol import Reservation

# A start does not wait for an old Slurm that is slow to add up; it then goes by older numbers.
_BUDGETS_WAIT_S = 2.0


class OptionsMixin(SiteTraits, SlurmSpawner):
    """Knows the cluster and checks users' options against it."""

    _request: SessionRequest

    @property
    def cluster(self) -> Cluster:
        """The one cluster of this hub."""
        return shared_cluster(self.user.settings, self, known_ids=self._rows.read_ids, log=self.log)

    @property
    def limits(self) -> Limits:
        """What the user may ask for, over all choices of account, partition and QOS."""
        return self._offer().limits

    def _offer(self, associations: Associations | None = None) -> Offer:
        return Offer(
            traits=self,
            user=self.user.name,
            groups=tuple(group.name for group in self.user.groups),
            associations=self.cluster.associations if associations is None else associations,
            budgets=self.cluster.budgets,
        )

    @property
    def shape(self) -> ResourcesPerGpu:
        """The site's rule for cores and memory per GPU."""
        return read_traits(self, ResourceSettings).per_gpu

    @property
    def most_gpus(self) -> int | None:
        """GPUs of the largest session that the user can have; None if nothing is known yet."""
        catalog = self.cluster.known_catalog
        return None if catalog is None else most_gpus(catalog, self.limits)

    async def read_catalog(self) -> Catalog:
        """Return the cluster's partitions, nodes and GPUs, a few seconds old at most."""
        return await self.cluster.read_catalog()

    def owned_limits(self, options: JobOptions) -> OwnedLimits:
        """Return the limits of the site, of the user's groups and of Slurm's accounting.

        Of the options only account, partition and QOS matter.
        """
        return self._offer().owned(options)

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
        offer = self._offer()
        share = self.cluster.budgets.fair_share(self.user.name, offer.account() or "")
        return tuple(
            filter(None, (offer.charged(JobOptions(), None).left, fair_share_words(share)))
        )

    async def read_reservations(self) -> Mapping[str, Reservation]:
        """Return the reservations that the site offers and Slurm knows, by name."""
        if not self.reservations:
            return {}
        known = await self.cluster.read_reservations()
        return {name: known[name] for name in self.reservations if name in known}

    def account_of(self, options: JobOptions) -> str | None:
        """Return the Slurm account of a session; None if it is not known."""
        return self._offer().account(options.name("account"))

    def find_alternatives(self, options: JobOptions) -> dict[str, Any]:
        """Return what of a session's request its user could have chosen otherwise, by field."""
        limits, catalog = self.limits, self.cluster.known_catalog
        types = set() if catalog is None else set(offered_gpu_types(catalog, limits))
        return {
            "gpu_type": options.gpu_type or "",
            "has_other_gpu_type": bool(types - {options.gpu_type}) if types else None,
            "has_other_partition": len(limits.partitions) > 1,
        }

    async def forecast(self, user_options: Mapping[str, object]) -> Forecast | None:
        """Return when a session would start; nothing is submitted.

        The answer is some minutes old at most; None if it is not known.
        """
        catalog = await self.read_catalog()
        plan = self._make_plan(self._offer().check(user_options, catalog), JOB_NAME)
        return await self.cluster.forecaster.forecast(self._forecast_query(plan))

    def _make_plan(self, request: SessionRequest, job_name: str) -> JobPlan:
        return make_plan(self, request, job_name=job_name, comment=job_comment(self.cluster.hub))

    def _forecast_query(self, plan: JobPlan) -> ForecastQuery:
        return forecast_query(plan, self._offer())

    @default("options_from_form")
    def _options_from_form_default(self) -> Any:
        return normal_form

    @default("apply_user_options")
    def _apply_user_options_default(self) -> Any:
        return _take_options

    async def take_options(self, user_options: Mapping[str, object]) -> None:
        """Check and keep the user's options; form and REST both come here."""
        handler = self.handler
        is_rest = isinstance(handler, UserServerAPIHandler)
        if is_rest and not _has_options(handler):
            # JupyterHub would repeat the last options; ours are the site's default.
            user_options = {}
        self.cluster.ask_ahead()
        try:
            catalog = await self.read_catalog()
            associations = await self.cluster.read_associations()
            await self.cluster.knows_budgets(_BUDGETS_WAIT_S)
            try:
                self._request = self._offer(associations).check(user_options, catalog)
            except BudgetError:
                # It may have been raised, or renewed, since the last look.
                await self.cluster.read_budgets_again(_BUDGETS_WAIT_S)
                self._request = self._offer(associations).check(user_options, catalog)
        except PortalError as error:
            raise StartFailedError(error) from error
        self.user_options = normal_form(user_options)
        await self._rows.wait_for_lock()
        self._rows.save_options(self.user_options)

    @property
    def _rows(self) -> SpawnerDatabase:
        return SpawnerDatabase(self.orm_spawner)


def _has_options(handler: UserServerAPIHandler) -> bool:
    # JupyterHub 5 takes the whole body for the options.
    if not hasattr(handler, "get_server_json_body"):
        return handler.get_json_body() is not None
    return handler.get_server_json_body()["user_options"] is not None


async def _take_options(spawner: OptionsMixin, user_options: Mapping[str, object]) -> None:
    await spawner.take_options(user_options)
