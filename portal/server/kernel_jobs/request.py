"""What a user may ask for a kernel, and asks: GPUs, their type, and for how long. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dsportal.amounts import SECONDS_PER_HOUR, count, format_duration
from dsportal.slurm.errors import OptionsError
from portal.settings.kernel_jobs import KernelJobSettings
from spawner.options.budget_messages import ChargedBudgets
from spawner.options.limits import Limits
from spawner.session_settings import LIMITS, told_tables
from spawner.slurm.catalog import Catalog
from spawner.slurm.names import is_name
from spawner.slurm.resources import ResourcesPerGpu

_GPUS = re.compile(r"(?:(?P<type>[^:\s]{1,64}):)?(?P<n>[0-9]{1,4})", re.ASCII)
_SHOWN = 40
# Lengths that the dialog offers.
_HOURS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 24.0, 48.0, 96.0, 168.0)
NO_BUDGETS = ChargedBudgets()


class Variables(StrEnum):
    """Whether the variables of a kernel that moves come along."""

    ALWAYS = "always"
    ASK = "ask"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRequest:
    """GPUs for a kernel.

    Attributes:
        n_gpus: 0 gives those of the kernel back.
        gpu_type: Slurm's name of a GPU type; empty for any.
        variables: Whether the kernel's come along; None for the user's setting.
        body: Code that alone runs there, while the kernel stays; empty if the kernel moves.
    """

    n_gpus: int
    walltime_s: int
    gpu_type: str = ""
    variables: Variables | None = None
    body: str = ""

    @property
    def words(self) -> str:
        """The request in words: "2 GPUs" or "1 v100 GPU"."""
        return count(self.n_gpus, f"{self.gpu_type} GPU".strip())


def read_limits(environ: Mapping[str, str], settings: KernelJobSettings) -> Limits:
    """Return what the user of a session may ask for: the site's limits, and those of groups."""
    told = told_tables(environ).get(LIMITS, {})
    of_kernels = Limits(max_walltime_s=round(settings.max_hours * SECONDS_PER_HOUR))
    return of_kernels.for_groups([LIMITS], {LIMITS: told})


def parse_request(
    gpus: object, hours: object, settings: KernelJobSettings, *, variables: object = None
) -> GpuRequest:
    """Return what a cell or a dialog asks for.

    Args:
        gpus: A number, or a type and a number: 2, "2", "v100:2".
        hours: None or empty for the site's default.
        variables: One of `Variables`. None or empty for the user's setting.
    """
    match = _GPUS.fullmatch(str(gpus).strip())
    if match is None or (match["type"] and not is_name(match["type"])):
        raise OptionsError(
            f"You asked for {_shown(gpus)}, which is not a number of GPUs. Write %gpu 2, or with "
            "a type %gpu v100:2. %gpu 0 gives them back."
        )
    return GpuRequest(
        n_gpus=int(match["n"]),
        gpu_type=match["type"] or "",
        walltime_s=_walltime_s(hours, settings),
        variables=_variables(variables),
    )


def check_request(
    request: GpuRequest,
    catalog: Catalog,
    limits: Limits,
    shape: ResourcesPerGpu,
    partition: str,
    *,
    charged: ChargedBudgets = NO_BUDGETS,
    n_held: int = 0,
) -> ResourcesPerGpu:
    """Return the cores and memory that come with each GPU, lowered where nodes have less.

    Args:
        partition: Empty for Slurm's default one.
        n_held: GPUs of the session and of its other kernels.
    """
    where, kind = partition or None, request.gpu_type or None
    place = f"the partition {partition}" if partition else "Slurm's default partition"
    if limits.partitions and partition not in limits.partitions:
        raise OptionsError(
            f"You asked for {request.words}; they are in {place}, which is not available to you. "
            f"Start a session with GPUs in {', '.join(limits.partitions)}."
        )
    if limits.max_gpus is not None and request.n_gpus > limits.max_gpus:
        raise OptionsError(
            f"You asked for {request.words}; in {place} you may use {limits.max_gpus}. "
            "Ask for fewer."
        )
    if limits.max_gpus is not None and request.n_gpus + n_held > limits.max_gpus:
        raise OptionsError(
            f"You asked for {request.words}; this session and its other kernels hold {n_held}, and "
            f"may hold {limits.max_gpus} together. Ask for fewer, or give some back first: %gpu 0 "
            "in the other notebook."
        )
    most = catalog.largest_node_gpus(partition=where, gpu_type=kind)
    if request.n_gpus > most:
        types = ", ".join(filter(None, catalog.gpu_types(where)))
        known = f" It has the types {types}." if kind and types else ""
        raise OptionsError(
            f"You asked for {request.words}; the largest node of {place} has {most}.{known} "
            "Ask for fewer, or for another type."
        )
    for node in catalog.nodes_with(request.n_gpus, where, kind):
        shape = shape.fitted(
            where=f"The node {node.name}",
            n_gpus=node.count_gpus().total,
            n_cores=node.n_cores,
            memory_mib=node.memory_mib,
        )
    resources = shape.resources(request.n_gpus)
    if refusal := charged.why_not(resources, kind, request.walltime_s):
        asked = f"{request.words} for {format_duration(request.walltime_s)}"
        raise OptionsError(f"You asked for {asked}. {refusal}")
    return shape


def list_choices(
    catalog: Catalog,
    limits: Limits,
    shape: ResourcesPerGpu,
    partition: str,
    settings: KernelJobSettings,
    charged: ChargedBudgets = NO_BUDGETS,
) -> dict[str, Any]:
    """Return the most `gpus` of each type, "" for any, the `hours`, and what `budget` is left.

    Args:
        partition: Empty for Slurm's default one.
        settings: The site's, with the hours of the user.
    """
    one = GpuRequest(n_gpus=1, walltime_s=settings.walltime_s)
    check_request(one, catalog, limits, shape, partition)
    where = partition or None
    kinds = (None, *catalog.gpu_types(where))
    totals = {kind: catalog.largest_node_gpus(partition=where, gpu_type=kind) for kind in kinds}
    most = max(totals.values()) if limits.max_gpus is None else limits.max_gpus
    first = min(settings.hours, settings.max_hours)
    hours = sorted({first, settings.max_hours, *_HOURS})
    return {
        "gpus": {kind or "": min(n_gpus, most) for kind, n_gpus in totals.items() if n_gpus},
        "hours": [
            [str(each), format_duration(each * SECONDS_PER_HOUR)]
            for each in hours
            if each <= settings.max_hours
        ],
        "first_hours": str(first),
        "budget": charged.left,
    }


def _walltime_s(hours: object, settings: KernelJobSettings) -> int:
    if hours is None or hours == "":
        return settings.walltime_s
    try:
        number = float(str(hours))
    except ValueError:
        number = 0.0
    # A minute is the shortest time limit in Slurm; nan is not above it.
    if not number >= 1 / 60:
        raise OptionsError(
            f"You asked for {_shown(hours)} hours, which is not a length. Give a number of hours "
            "such as 2 or 0.5."
        )
    if number > settings.max_hours:
        longest = format_duration(settings.max_hours * SECONDS_PER_HOUR)
        raise OptionsError(
            f"You asked for {_shown(hours)} hours; a kernel may have GPUs for at most {longest} "
            "at a time. Ask for fewer hours."
        )
    return round(number * SECONDS_PER_HOUR)


def _variables(text: object) -> Variables | None:
    if text is None or text == "":
        return None
    try:
        return Variables(str(text))
    except ValueError:
        raise OptionsError(
            f"You asked for variables {_shown(text)}. It is always, ask or never."
        ) from None


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
