"""What the form offers: how many GPUs, what comes with them, and whether they are free."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from portal.hub.words import format_cores, format_gpus, format_hours, format_memory
from spawner.catalog import Catalog
from spawner.gres import GpuCount
from spawner.limits import Limits
from spawner.nodes import Node
from spawner.options import JobOptions
from spawner.shape import Shape

ShapeFor = Callable[[int, "str | None"], Shape]

# Up to here every number of GPUs has a button; above, even ones, and from 16 on every eighth.
_MOST_SINGLE = 8
_MOST_EVEN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One number of GPUs, in words.

    Attributes:
        n_gpus: GPUs, 0 or more.
        gpus: For example "2 GPUs".
        cores: For example "16 cores".
        memory: For example "96 GB".
        hours: For example "8 hours".
        starts_now: Whether a node has all of it free.
        note: Why there is less than the site's rule says; "" where there is not.
        refusal: Why the user cannot have it; "" where they can.
    """

    n_gpus: int
    gpus: str
    cores: str
    memory: str
    hours: str
    starts_now: bool
    note: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """All choices of one form.

    Attributes:
        choices: Numbers of GPUs up to those of the largest node; empty where no node has a GPU.
        chosen: The number of GPUs that is marked at first.
        count: The GPUs of the partitions and of the type chosen.
        partitions: Names of the partitions offered.
    """

    choices: tuple[Choice, ...]
    chosen: int
    count: GpuCount
    partitions: tuple[str, ...]


def make_offer(
    catalog: Catalog,
    *,
    shape_for: ShapeFor,
    limits: Limits,
    site_limits: Limits,
    selected: JobOptions,
) -> Offer:
    """Return what a user can choose from now.

    Args:
        catalog: The cluster.
        shape_for: Returns the cores and memory of each GPU for a number of GPUs and a partition.
        limits: What the site lets this user ask for.
        site_limits: What it lets anybody ask for.
        selected: What is marked, partition and GPU type among them.

    Returns:
        The offer.
    """
    named = (selected.partition,) if selected.partition else ()
    nodes = nodes_of(catalog, named or limits.partitions)
    largest = max((node.count_gpus(selected.gpu_type).total for node in nodes), default=0)
    shown = max(
        (node.count_gpus().total for node in nodes_of(catalog, site_limits.partitions)), default=0
    )
    refuse = _Refusal(limits, site_limits, selected, largest)
    choices = tuple(
        _choice(n, catalog, shape_for, limits, selected, refuse.why(n))
        for n in _numbers(limits.min_gpus, shown, selected.n_gpus)
    )
    allowed = [choice.n_gpus for choice in choices if not choice.refusal]
    return Offer(
        choices=choices if largest or limits.min_gpus == 0 else (),
        chosen=selected.n_gpus if selected.n_gpus in allowed else next(iter(allowed), 0),
        count=sum((node.count_gpus(selected.gpu_type) for node in nodes), start=GpuCount()),
        partitions=limits.partitions,
    )


def nodes_of(catalog: Catalog, partitions: tuple[str, ...]) -> list[Node]:
    """Return the nodes of some partitions.

    Args:
        catalog: The cluster.
        partitions: Their names; none for the default partition.

    Returns:
        Each node once, also where several partitions share it.
    """
    names: tuple[str | None, ...] = partitions or (None,)
    return list({node.name: node for name in names for node in catalog.nodes(name)}.values())


@dataclass(frozen=True, slots=True)
class _Refusal:
    limits: Limits
    site_limits: Limits
    selected: JobOptions
    largest: int

    def why(self, n_gpus: int) -> str:
        most, site_most = self.limits.max_gpus, self.site_limits.max_gpus
        if site_most is not None and n_gpus > site_most:
            return f"This site allows {format_gpus(site_most)} in a session."
        if most is not None and n_gpus > most:
            return f"Your groups allow {format_gpus(most)} in a session."
        if n_gpus > self.largest:
            kind = f" of type {self.selected.gpu_type}" if self.selected.gpu_type else ""
            place = f" of {self.selected.partition}" if self.selected.partition else ""
            return f"No node{place} has more than {format_gpus(self.largest)}{kind}."
        return ""


def _numbers(least: int, most: int, selected: int) -> Iterator[int]:
    for n in range(least, most + 1):
        is_round = n <= _MOST_SINGLE or (n <= _MOST_EVEN and n % 2 == 0) or n % 8 == 0
        if is_round or n in {most, selected}:
            yield n


def _choice(
    n_gpus: int,
    catalog: Catalog,
    shape_for: ShapeFor,
    limits: Limits,
    selected: JobOptions,
    refusal: str,
) -> Choice:
    wanted = JobOptions(n_gpus=n_gpus, gpu_type=selected.gpu_type, partition=selected.partition)
    partition = wanted.choose_partition(catalog, limits)
    shape = shape_for(n_gpus, partition)
    resources = shape.resources(n_gpus)
    startable = catalog.largest_startable_gpus(shape, partition, selected.gpu_type)
    return Choice(
        n_gpus=n_gpus,
        gpus=format_gpus(n_gpus),
        cores=format_cores(resources.n_cores),
        memory=format_memory(resources.memory_mib),
        hours=format_hours(selected.walltime_s or limits.first_walltime_s),
        starts_now=startable >= n_gpus if n_gpus else _has_room(catalog, shape, partition),
        note="" if refusal else shape.reason,
        refusal=refusal,
    )


def _has_room(catalog: Catalog, shape: Shape, partition: str | None) -> bool:
    return any(
        node.idle_are == "free"
        and node.n_cores - node.n_cores_used >= shape.cores_per_gpu
        and node.memory_mib - node.memory_used_mib >= shape.memory_mib_per_gpu
        for node in catalog.nodes(partition)
    )
