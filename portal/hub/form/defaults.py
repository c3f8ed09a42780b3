"""What is marked on the form at first: a link's choice, or the last one, where it is offered."""

from __future__ import annotations

from collections.abc import Mapping

from spawner.errors import OptionsError
from spawner.options.job_options import KEYS, JobOptions
from spawner.options.limits import Limits
from spawner.slurm.catalog import Catalog

_PREFIX = "opt-"


def options_of_link(query: Mapping[str, list[str]]) -> dict[str, object]:
    """Return the options in the address of a form.

    Args:
        query: Arguments of the address: "gpus", "hours" and so on, with JupyterHub's prefix
            "opt-" or without.

    Returns:
        The options, without anything that is none.
    """
    found: dict[str, object] = {}
    for name, values in query.items():
        key = name.removeprefix(_PREFIX)
        if key in KEYS and values and values[0]:
            found[key] = values[0]
    return found


def select(options: Mapping[str, object], catalog: Catalog, limits: Limits) -> JobOptions:
    """Return what the form marks.

    Args:
        options: What a link says, or what the user asked for last.
        catalog: The cluster.
        limits: What the user may ask for.

    Returns:
        The options without those that are not offered or cannot be read.
    """
    kept: dict[str, object] = {}
    for key in KEYS:
        if key in options and key != "rescue" and _is_offered(key, options[key], catalog, limits):
            kept[key] = options[key]
    return JobOptions.parse(kept)


def _is_offered(key: str, value: object, catalog: Catalog, limits: Limits) -> bool:
    try:
        parsed = JobOptions.parse({key: value})
    except OptionsError:
        return False
    if key == "gpu_type":
        return parsed.gpu_type in offered_gpu_types(catalog, limits)
    if key == "hours":
        return parsed.walltime_s is None or parsed.walltime_s <= limits.max_walltime_s
    offered = {
        "partition": limits.partitions,
        "account": limits.accounts,
        "qos": limits.qos,
        "reservation": limits.reservations,
    }
    return key not in offered or getattr(parsed, key) in offered[key]


def offered_gpu_types(catalog: Catalog, limits: Limits) -> tuple[str, ...]:
    """Return the types of GPU that a user can name.

    Args:
        catalog: The cluster.
        limits: What the user may ask for.

    Returns:
        Sorted names of types that the offered partitions have.
    """
    partitions = limits.partitions or (None,)
    present = {name for partition in partitions for name in catalog.gpu_types(partition)}
    return tuple(sorted(present.intersection(limits.gpu_types) if limits.gpu_types else present))
