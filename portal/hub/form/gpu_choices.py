"""The form's numbers of GPUs, with the cores and memory that come along."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dsportal.amounts import count, format_duration
from portal.hub.formatting import format_gpus, format_memory
from spawner.options.job_options import JobOptions
from spawner.options.limit_messages import OwnedLimits
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import GpuCount
from spawner.slurm.nodes import Node
from spawner.slurm.resources import ResourcesPerGpu

ShapeFor = Callable[[int, "str | None"], ResourcesPerGpu]

# Up to here every number of GPUs has a button; above, even ones, and from 16 on every eighth.
_MOST_SINGLE = 8
_MOST_EVEN = 16
# Cards side by side on a wide page.
_MOST_COLUMNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One number of GPUs, formatted.

    Attributes:
        gpus: For example "2 GPUs".
        cores: For example "16 cores".
        memory: For example "96 GB".
        hours: For example "8 hours".
        starts_now: Whether a node has all of it free.
        note: Why it has less than the site's rule says, and what it may use of a budget.
        refusal: Why the user cannot have it; "" if they can.
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
class GpuChoices:
    """All choices of one form.

    Attributes:
        choices: Up to the GPUs of the largest node; empty if no node has a GPU.
        chosen: Number of GPUs that is marked initially.
        count: GPUs of the chosen partitions and type.
    """

    choices: tuple[Choice, ...]
    chosen: int
    count: GpuCount
    partitions: tuple[str, ...]

    @property
    def n_columns(self) -> int:
        """Cards side by side on a wide page, so that no row has one card alone."""
        n_rows = -(-len(self.choices) // _MOST_COLUMNS)
        return -(-len(self.choices) // n_rows)


def make_gpu_choices(
    catalog: Catalog,
    *,
    shape_for: ShapeFor,
    bounds: OwnedLimits,
    selected: JobOptions,
) -> GpuChoices:
    """Return what a user can choose from now.

    `shape_for` returns cores and memory of each GPU, for a number of GPUs and a partition. `bounds`
    combines the limits of the site, of the user's groups and of Slurm's accounting.
    """
    limits = bounds.own
    named = (selected.partition,) if selected.partition else ()
    nodes = distinct_nodes(catalog, named or limits.partitions)
    largest = max((node.count_gpus(selected.gpu_type).total for node in nodes), default=0)
    # Numbers that only other partitions or types have are shown, too, with the reason against them.
    shown = max(
        (node.count_gpus().total for node in distinct_nodes(catalog, bounds.site.partitions)),
        default=0,
    )
    choices = tuple(
        _choice(n, catalog, shape_for, bounds, selected, _refusal(n, bounds, selected, largest))
        for n in _numbers(limits.min_gpus, shown, selected.n_gpus)
    )
    allowed = [choice.n_gpus for choice in choices if not choice.refusal]
    return GpuChoices(
        choices=choices if largest or limits.min_gpus == 0 else (),
        # Else the fewest GPUs that the user may have.
        chosen=selected.n_gpus if selected.n_gpus in allowed else next(filter(None, allowed), 0),
        count=sum((node.count_gpus(selected.gpu_type) for node in nodes), start=GpuCount()),
        partitions=limits.partitions,
    )


def distinct_nodes(catalog: Catalog, partitions: tuple[str, ...]) -> list[Node]:
    """Return each node of some partitions once, even if several partitions share it.

    No `partitions` means Slurm's default partition.
    """
    names: tuple[str | None, ...] = partitions or (None,)
    return list({node.name: node for name in names for node in catalog.nodes(name)}.values())


def _refusal(n_gpus: int, bounds: OwnedLimits, selected: JobOptions, largest: int) -> str:
    limited = bounds.why_not_gpus(n_gpus, selected.gpu_type)
    if limited or n_gpus <= largest:
        return limited
    kind = f" of type {selected.gpu_type}" if selected.gpu_type else ""
    place = f" of {selected.partition}" if selected.partition else ""
    return f"No node{place} has more than {format_gpus(largest)}{kind}."


def _numbers(least: int, most: int, selected: int) -> Iterator[int]:
    for n in range(least, most + 1):
        is_round = n <= _MOST_SINGLE or (n <= _MOST_EVEN and n % 2 == 0) or n % 8 == 0
        # The largest number, and one from a link, are shown whatever they are.
        if is_round or n in {most, selected}:
            yield n


def _choice(
    n_gpus: int,
    catalog: Catalog,
    shape_for: ShapeFor,
    bounds: OwnedLimits,
    selected: JobOptions,
    refusal: str,
) -> Choice:
    limits = bounds.own
    wanted = JobOptions(n_gpus=n_gpus, gpu_type=selected.gpu_type, partition=selected.partition)
    partition = wanted.choose_partition(catalog, limits)
    shape = shape_for(n_gpus, partition)
    resources = shape.resources(n_gpus)
    walltime_s = selected.walltime_s or limits.first_walltime_s
    charged = (resources, selected.gpu_type, walltime_s)
    refusal = refusal or bounds.charged.why_not(*charged)
    notes = (shape.reason, bounds.charged.note(*charged))
    startable = catalog.largest_startable_gpus(shape, partition, selected.gpu_type)
    return Choice(
        n_gpus=n_gpus,
        gpus=format_gpus(n_gpus) if n_gpus else "No GPU",
        cores=count(resources.n_cores, "core"),
        memory=format_memory(resources.memory_mib),
        hours=format_duration(walltime_s),
        starts_now=startable >= n_gpus if n_gpus else catalog.has_room(resources, partition),
        note="" if refusal else " ".join(filter(None, notes)),
        refusal=refusal,
    )
