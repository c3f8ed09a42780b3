"""The clusters of a site side by side: free GPUs, and when a session would start on each."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from dsportal.slurm.errors import PortalError
from portal.hub.form.fields import Field, Item, format_free
from portal.hub.form.gpu_choices import distinct_nodes
from portal.hub.form.start_times import describe_start
from spawner.hub.cluster_offer import ClusterOffer
from spawner.hub.session_mixin import SessionMixin
from spawner.options.option_table import OPTIONS
from spawner.slurm.gres import GpuCount


async def describe_clusters(
    spawner: SessionMixin, chosen: Mapping[str, str], *, now: datetime, wait_s: float
) -> Field | None:
    """Return the choice of cluster, with the start of what is `chosen`; None for one cluster.

    Each answer of a cluster is awaited for `wait_s` seconds at most.
    """
    if not spawner.clusters:
        return None
    asked = {key: chosen[key] for key in ("gpus", "hours") if key in chosen}
    items = await asyncio.gather(
        *(
            _describe(spawner.on(name), chosen, asked, now, wait_s)
            for name in ("", *spawner.clusters)
        )
    )
    return Field(name="cluster", label=OPTIONS["cluster"].label, items=tuple(items))


async def _describe(
    here: ClusterOffer,
    chosen: Mapping[str, str],
    asked: Mapping[str, str],
    now: datetime,
    wait_s: float,
) -> Item:
    name = here.cluster.name
    item = Item(
        value=name,
        label=here.title,
        is_chosen=name == chosen.get("cluster", ""),
    )
    try:
        async with asyncio.timeout(wait_s):
            catalog = await here.read_catalog()
    except TimeoutError:
        return replace(item, detail="has not answered yet")
    except PortalError:
        return replace(item, refusal="does not answer")
    nodes = distinct_nodes(catalog, here.limits.partitions)
    free = format_free(sum((node.count_gpus() for node in nodes), start=GpuCount()))
    # Of the marked cluster the marked choice, of the others what can be asked of each.
    options = chosen if item.is_chosen else {**asked, "cluster": name}
    try:
        async with asyncio.timeout(wait_s):
            forecast = await here.forecast(options)
    except (PortalError, TimeoutError):
        forecast = None
    words = describe_start(forecast, now, is_free=False).words if forecast else ""
    return replace(item, detail=", ".join(filter(None, (words, free))))
