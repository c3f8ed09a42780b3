"""All that the form shows of one user's choices, also as JSON for its script."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

from dsportal.amounts import format_option_hours
from dsportal.slurm.errors import PortalError
from portal.hub.form.clusters import describe_clusters
from portal.hub.form.defaults import select
from portal.hub.form.fields import Field, advanced_fields, main_fields
from portal.hub.form.forecasts import read_forecasts
from portal.hub.form.gpu_choices import Choice, GpuChoices, make_gpu_choices
from portal.hub.form.start_times import Start, describe_free, describe_start, with_alternative
from spawner.forecast.forecaster import Forecast
from spawner.hub.cluster_offer import ClusterOffer
from spawner.hub.session_mixin import SessionMixin
from spawner.options.job_options import JobOptions
from spawner.options.limits import Limits
from spawner.options.request import resources_per_gpu
from spawner.options.traits import SpawnerTraits
from spawner.slurm.catalog import Catalog
from spawner.slurm.resources import ResourcesPerGpu
from spawner.slurm.scontrol import Reservation

# The form is waiting; without an answer no reservation is ruled out.
_RESERVATIONS_WAIT_S = 1.0
# Only after a start of the hub; a form without them says so, and its script asks again.
_LIMITS_WAIT_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FormView:
    """The form, ready for its template.

    Attributes:
        offer: Numbers of GPUs.
        starts: Expected start of each choice, by GPUs.
        clusters: The choice of cluster; None for one cluster.
        fields: Further fields that are always shown.
        advanced: Fields that are collapsed initially.
        chosen: This choice, as a request spells it.
        link: Address of the form with this choice marked.
        as_of: A sentence if the numbers are old; else "".
        budget: What is left of the user's budgets; "" without any.
        has_all_limits: Whether Slurm's accounting has said what the user may ask for.
    """

    offer: GpuChoices
    starts: Mapping[int, Start]
    clusters: Field | None
    fields: tuple[Field, ...]
    advanced: tuple[Field, ...]
    chosen: Mapping[str, str]
    link: str
    as_of: str
    budget: str
    has_all_limits: bool

    def refusal(self, choice: Choice) -> str:
        """Return why a choice cannot be had, by the site or by Slurm; "" if it can."""
        return choice.refusal or self.starts[choice.n_gpus].refusal

    @property
    def one_gpu(self) -> Choice:
        """The choice of one GPU, or the first: it says what comes with each GPU."""
        choices = self.offer.choices
        return next((choice for choice in choices if choice.n_gpus == 1), choices[0])

    @property
    def chosen_gpus(self) -> Choice:
        """The number of GPUs that is marked."""
        choices = self.offer.choices
        marked = (choice for choice in choices if choice.n_gpus == self.offer.chosen)
        return next(marked, choices[0])

    @property
    def free(self) -> str:
        """A sentence about free GPUs; "" if there are no GPUs at all."""
        return describe_free(self.offer.count)

    @property
    def has_chosen_advanced(self) -> bool:
        """Whether something is marked that collapsed fields would hide."""
        return any(item.is_chosen and item.value for field in self.advanced for item in field.items)

    def to_json(self) -> dict[str, Any]:
        """Return what the form's script fills in."""
        choices = []
        for choice in self.offer.choices:
            start = self.starts[choice.n_gpus]
            refusal = self.refusal(choice)
            choices.append(
                asdict(choice) | {"start": start.words, "tone": start.tone, "refusal": refusal}
            )
        return {
            "choices": choices,
            "fields": [asdict(field) for field in (self.clusters, *self.fields) if field],
            "free": self.free,
            "budget": self.budget,
            "link": self.link,
            "has_all_limits": self.has_all_limits,
        }


async def describe_form(
    spawner: SessionMixin,
    here: ClusterOffer,
    catalog: Catalog,
    wanted: Mapping[str, object],
    *,
    now: datetime,
    wait_s: float,
    as_of: str = "",
) -> FormView:
    """Return the form for the user of a spawner, with `wanted` marked as far as it is offered.

    `here` is the cluster that is marked. Forecasts are awaited for `wait_s` seconds at most; later
    ones are there next time. `as_of` says that the catalog is old; then Slurm is not asked. `now`
    is in its time zone.
    """
    has_all_limits = await here.knows_limits(_LIMITS_WAIT_S)
    selected = select(wanted, catalog, here.limits)
    selected = replace(selected, cluster=here.cluster.name)
    bounds = here.owned_limits(selected)
    limits = bounds.own
    selected = _lengthened(selected, catalog, limits)
    # The same limits and choice give the same form, so users share it until Slurm's next answer.
    key = (repr(bounds), selected)
    shape_for = partial(_shape_for, here.traits, catalog, selected.gpu_type)

    def choices() -> tuple[GpuChoices, tuple[Field, ...]]:
        offer = make_gpu_choices(catalog, shape_for=shape_for, bounds=bounds, selected=selected)
        return offer, main_fields(catalog, bounds, selected)

    # Thousands of nodes are counted once in each of Slurm's answers, by a thread: all forms that
    # are asked for meanwhile wait for the same one.
    counted = catalog.known(("choices", *key))
    if counted is None:
        counted = asyncio.ensure_future(asyncio.to_thread(choices))
        catalog.keep(("choices", *key), counted)
    offer, fields = await asyncio.shield(counted)
    known: Mapping[int, Forecast] = {}
    chosen = format_options(selected, offer.chosen)
    clusters = describe_clusters(spawner, chosen, now=now, wait_s=wait_s)
    if as_of:
        reservations, field = None, await clusters
    else:
        account = here.account_of(selected)
        forecasts = read_forecasts(
            here,
            catalog,
            offer,
            partial(format_options, selected),
            shared_by=None if account is None else (*key, account),
            wait_s=wait_s,
        )
        known, field = await asyncio.gather(forecasts, clusters)
        reservations = await _read_reservations(here)
    return FormView(
        offer=offer,
        starts=_describe_starts(offer.choices, known, now),
        clusters=field,
        fields=fields,
        advanced=advanced_fields(limits, selected, reservations, now),
        chosen=chosen,
        link=f"{spawner.hub.base_url}spawn?{urlencode(chosen)}",
        as_of=as_of,
        budget=bounds.charged.left,
        has_all_limits=has_all_limits,
    )


def format_options(selected: JobOptions, n_gpus: int) -> dict[str, str]:
    """Return a choice as a request spells it: texts by option."""
    chosen = {
        "gpus": str(n_gpus),
        "cluster": selected.cluster,
        "hours": format_option_hours(selected.walltime_s) if selected.walltime_s else "",
        "gpu_type": selected.gpu_type,
        "partition": selected.partition,
        **dict(selected.names),
    }
    return {key: value for key, value in chosen.items() if value}


def _lengthened(selected: JobOptions, catalog: Catalog, limits: Limits) -> JobOptions:
    if selected.walltime_s:
        return selected
    # The partition of the session may allow less than the site's usual length.
    most_s = catalog.max_walltime_s(selected.choose_partition(catalog, limits))
    first_s = limits.first_walltime_s
    return replace(selected, walltime_s=first_s if most_s is None else min(first_s, most_s))


async def _read_reservations(here: ClusterOffer) -> Mapping[str, Reservation] | None:
    try:
        # Without a task of its own, which each form would pay for.
        async with asyncio.timeout(_RESERVATIONS_WAIT_S):
            return await here.read_reservations()
    except (TimeoutError, PortalError):
        return None


def _describe_starts(
    choices: Iterable[Choice], known: Mapping[int, Forecast], now: datetime
) -> dict[int, Start]:
    starts = {
        choice.n_gpus: describe_start(known.get(choice.n_gpus), now, is_free=choice.starts_now)
        for choice in choices
    }
    # An alternative that the user may not have is none.
    may_have = {choice.n_gpus: starts[choice.n_gpus] for choice in choices if not choice.refusal}
    return {n: with_alternative(start, n, may_have) for n, start in starts.items()}


def _shape_for(
    traits: SpawnerTraits,
    catalog: Catalog,
    gpu_type: str | None,
    n_gpus: int,
    partition: str | None,
) -> ResourcesPerGpu:
    return resources_per_gpu(traits, catalog, n_gpus=n_gpus, partition=partition, gpu_type=gpu_type)
