"""Forecasts for all choices of a form; the users of one account share them."""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime

from dsportal.slurm.errors import PortalError
from portal.hub.form.gpu_choices import Choice, GpuChoices
from spawner.forecast.forecaster import Forecast
from spawner.hub.cluster_offer import ClusterOffer
from spawner.slurm.catalog import Catalog


async def read_forecasts(
    here: ClusterOffer,
    catalog: Catalog,
    offer: GpuChoices,
    options_for: Callable[[int], Mapping[str, object]],
    *,
    shared_by: Hashable | None,
    wait_s: float,
) -> Mapping[int, Forecast]:
    """Return the forecast of each choice that the user may have `here`, by GPUs.

    `options_for` returns the request for a number of GPUs. `shared_by` identifies all whose form
    asks the same of Slurm: once all of it is known, they are not looked up again for the life of
    the catalog. With None nothing is shared. Forecasts are awaited for `wait_s` seconds at most;
    what is not known by then is left out, and there next time.
    """
    choices = [choice for choice in offer.choices if not choice.refusal]
    known: Mapping[int, Forecast] | None = None
    if shared_by is not None:
        known = catalog.known(("forecasts", shared_by))
    if known is None:
        known = await _ask_all(here, _by_importance(choices, offer.chosen), options_for, wait_s)
        if shared_by is not None and _can_be_shared(known, choices):
            catalog.keep(("forecasts", shared_by), known)
    return known


async def _ask_all(
    here: ClusterOffer,
    choices: Iterable[Choice],
    options_for: Callable[[int], Mapping[str, object]],
    wait_s: float,
) -> Mapping[int, Forecast]:
    asking = {
        choice.n_gpus: asyncio.ensure_future(_ask(here, options_for(choice.n_gpus)))
        for choice in choices
    }
    if not asking:
        return {}
    # What is late is not cancelled, so that its answer is cached for the next time.
    await asyncio.wait(asking.values(), timeout=wait_s)
    answers = {n: task.result() for n, task in asking.items() if task.done()}
    return {n: answer for n, answer in answers.items() if answer is not None}


async def _ask(here: ClusterOffer, options: Mapping[str, object]) -> Forecast | None:
    try:
        return await here.forecast(options)
    # The form works without this forecast.
    except PortalError:
        return None


def _by_importance(choices: Iterable[Choice], chosen: int) -> list[Choice]:
    # If Slurm's quota of questions runs out, the marked choice and those that wait have been asked.
    return sorted(choices, key=lambda choice: (choice.n_gpus != chosen, choice.starts_now))


def _can_be_shared(known: Mapping[int, Forecast], choices: Iterable[Choice]) -> bool:
    # A refusal can be about one user alone.
    return all(
        choice.n_gpus in known and isinstance(known[choice.n_gpus].answer, datetime)
        for choice in choices
    )
