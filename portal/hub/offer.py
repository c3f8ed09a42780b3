"""What the form offers: how many GPUs, what comes with them, and whether they are free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from portal.hub.words import format_cores, format_gpus, format_hours, format_memory
from spawner.catalog import Catalog
from spawner.limits import Limits
from spawner.nodes import Node
from spawner.options import JobOptions, most_gpus
from spawner.shape import Shape

ShapeFor = Callable[[int, "str | None"], Shape]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One number of GPUs, in words.

    Attributes:
        n_gpus: GPUs, 1 or more.
        gpus: For example "2 GPUs".
        cores: For example "16 cores".
        memory: For example "96 GB".
        hours: For example "8 hours".
        starts_now: Whether a node has all of it free.
        note: Why there is less than the site's rule says; "" where there is not.
    """

    n_gpus: int
    gpus: str
    cores: str
    memory: str
    hours: str
    starts_now: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """All choices of one form.

    Attributes:
        choices: From 1 GPU to those of the largest node; empty where no node has a GPU.
        chosen: The number of GPUs that is marked at first.
        n_free: GPUs that no job has.
        n_total: GPUs of the partitions offered.
        partitions: Names of the partitions offered.
    """

    choices: tuple[Choice, ...]
    chosen: int
    n_free: int
    n_total: int
    partitions: tuple[str, ...]


def make_offer(
    catalog: Catalog,
    *,
    shape_for: ShapeFor,
    limits: Limits,
    n_gpus_wanted: int,
) -> Offer:
    """Return what a user can choose from now.

    Args:
        catalog: The cluster.
        shape_for: Returns the cores and memory of each GPU for a number of GPUs and a partition.
        limits: What the site lets this user ask for.
        n_gpus_wanted: GPUs of the user's last session, marked again where still possible.

    Returns:
        The offer.
    """
    most = most_gpus(catalog, limits)
    counts = [node.count_gpus() for node in _nodes(catalog, limits.partitions)]
    return Offer(
        choices=tuple(_choice(n, catalog, shape_for, limits) for n in range(1, most + 1)),
        chosen=n_gpus_wanted if 1 <= n_gpus_wanted <= most else 1,
        n_free=sum(count.free for count in counts),
        n_total=sum(count.total for count in counts),
        partitions=limits.partitions,
    )


def _choice(n_gpus: int, catalog: Catalog, shape_for: ShapeFor, limits: Limits) -> Choice:
    partition = JobOptions(n_gpus=n_gpus).choose_partition(catalog, limits)
    shape = shape_for(n_gpus, partition)
    resources = shape.resources(n_gpus)
    return Choice(
        n_gpus=n_gpus,
        gpus=format_gpus(n_gpus),
        cores=format_cores(resources.n_cores),
        memory=format_memory(resources.memory_mib),
        hours=format_hours(limits.first_walltime_s),
        starts_now=catalog.largest_startable_gpus(shape, partition) >= n_gpus,
        note=shape.reason,
    )


def _nodes(catalog: Catalog, partitions: Sequence[str]) -> list[Node]:
    # A node that two partitions share counts once.
    names: Sequence[str | None] = partitions or (None,)
    return list({node.name: node for name in names for node in catalog.nodes(name)}.values())
