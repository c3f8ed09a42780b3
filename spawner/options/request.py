"""Turns a user's options into a checked request, under the operator's settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dsportal.amounts import count, format_duration
from dsportal.slurm.errors import OptionsError
from spawner.errors import SettingsError
from spawner.options.accounting_limits import AccountingLimits
from spawner.options.job_options import JobOptions, most_gpus
from spawner.options.limits import Limits
from spawner.options.option_table import plain_options
from spawner.options.traits import SiteTraits, SpawnerTraits
from spawner.settings.tables import ChoiceSettings, RescueSettings, ResourceSettings
from spawner.settings.traits import read_traits
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD
from spawner.slurm.nodes import Node
from spawner.slurm.resources import Resources, ResourcesPerGpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A user's request, checked.

    Attributes:
        options: The options as they were given.
        resources: GPUs, cores and memory that they amount to.
        partition: None for Slurm's default partition.
        walltime_s: Length of the session in seconds.
    """

    options: JobOptions
    resources: Resources
    partition: str | None
    walltime_s: int

    @classmethod
    def check(
        cls,
        traits: SpawnerTraits,
        user_options: Mapping[str, object],
        catalog: Catalog,
        limits: Limits,
        own: AccountingLimits | None = None,
    ) -> Request:
        """Return the request in the options of a form or of REST.

        Args:
            traits: The operator's settings.
            user_options: The options.
            catalog: What the cluster offers now.
            limits: The site's limits for the user.
            own: The user's share of Slurm's accounting; None for no limits.

        Raises:
            OptionsError: If something is not offered or exceeds a limit.
        """
        own = own or AccountingLimits()
        # For the text of an error only; the limits are checked below.
        most = most_gpus(catalog, own.widest(traits, limits))
        options = JobOptions.parse(user_options, max_gpus=most)
        partition = options.choose_partition(catalog, limits)
        limits = own.narrowed(traits, limits, options, partition)
        shape = resources_per_gpu(
            traits,
            catalog,
            n_gpus=options.n_gpus,
            partition=partition,
            gpu_type=options.gpu_type,
        )
        resources = options.check(catalog, limits, shape)
        # Its time and size are fixed, so none of the rules below concern it.
        if options.is_rescue:
            return cls.rescue(traits, options, partition)
        most_s = catalog.max_walltime_s(partition)
        if most_s is not None and (options.walltime_s or 0) > most_s:
            raise OptionsError(
                f"You asked for {format_duration(options.walltime_s or 0)}; a session"
                f"{f' in the partition {partition}' if partition else ''} may last at most "
                f"{format_duration(most_s)}. Ask for a shorter one."
            )
        # A length that the user named fits the partition by now; the site's default may not.
        walltime_s = options.walltime_s or limits.first_walltime_s
        return cls(
            options=options,
            resources=resources,
            partition=partition,
            walltime_s=walltime_s if most_s is None else min(walltime_s, most_s),
        )

    @classmethod
    def rescue(cls, traits: SpawnerTraits, options: JobOptions, partition: str | None) -> Request:
        """Return the small request, without a GPU, of a session for cleaning up a full home.

        Args:
            traits: The operator's settings.
            options: The options as they were given.
            partition: None for Slurm's default partition.

        Raises:
            OptionsError: If the site offers no such sessions.
        """
        rescue = read_traits(traits, RescueSettings)
        if not rescue.rescue_hours:
            raise OptionsError("This site offers no rescue sessions. Ask the administrators.")
        return cls(
            options=options,
            resources=Resources(
                n_gpus=0, n_cores=rescue.rescue_cores, memory_mib=rescue.rescue_memory_mib
            ),
            partition=partition,
            walltime_s=rescue.rescue_walltime_s,
        )


def read_limits(traits: SpawnerTraits, groups: Iterable[str] = (), *, user: str = "") -> Limits:
    """Return the limits of the site, lowered by those of the user, or else of the groups.

    Args:
        traits: The operator's settings.
        groups: Names of the user's groups.
        user: Name of the user; empty for what everybody may have.

    Raises:
        SettingsError: If `group_limits` or `user_limits` is wrong.
    """
    resources, choices = read_traits(traits, ResourceSettings), read_traits(traits, ChoiceSettings)
    limits = Limits(
        # 0 is "not set", since TOML has no null.
        max_gpus=choices.max_gpus or None,
        min_gpus=0 if choices.allow_cpu_only else 1,
        default_walltime_s=resources.walltime_s,
        max_walltime_s=resources.max_walltime_s,
        partitions=tuple(traits.partitions or [traits.req_partition] * bool(traits.req_partition)),
        gpu_types=choices.gpu_types,
        listed={key: getattr(choices, one.listed_in) for key, one in plain_options()},
    )
    if user in traits.user_limits:
        return limits.for_groups([user], traits.user_limits)
    return limits.for_groups(groups, traits.group_limits)


def resources_per_gpu(
    traits: SiteTraits,
    catalog: Catalog,
    *,
    n_gpus: int,
    partition: str | None,
    gpu_type: str | None = None,
) -> ResourcesPerGpu:
    """Return the cores and memory that come with each GPU of a session.

    The rule is lowered so that on any node that can hold the session all GPUs can be used at once.

    Args:
        traits: The operator's settings.
        catalog: What the cluster offers now.
        n_gpus: GPUs of the session.
        partition: None for Slurm's default partition.
        gpu_type: None for any.

    Returns:
        The shape, with the reason if it is lowered.

    Raises:
        SettingsError: If `partition_shapes` is wrong.
    """
    own = dict(traits.partition_shapes.get(partition or "", {}))
    if set(own) - {"cores_per_gpu", "memory_mib_per_gpu"}:
        raise SettingsError(
            f"partition_shapes of {partition!r} has the keys {', '.join(sorted(own))}. "
            "Use cores_per_gpu and memory_mib_per_gpu."
        )
    shape = read_traits(traits, ResourceSettings).per_gpu
    shape = replace(
        shape,
        cores_per_gpu=int(own.get("cores_per_gpu", shape.cores_per_gpu)),
        memory_mib_per_gpu=int(own.get("memory_mib_per_gpu", shape.memory_mib_per_gpu)),
    )
    # Sessions share the GPU, so the node's cores cannot be divided by its number of GPUs.
    if gpu_type == SHARD:
        return shape
    # A session without a GPU gets the cores and memory of one.
    n_least = max(n_gpus, 1)
    return catalog.once(
        ("shape", shape, n_least, partition, gpu_type),
        lambda: _fitted(shape, catalog.nodes_with(n_least, partition, gpu_type)),
    )


def _fitted(shape: ResourcesPerGpu, nodes: Iterable[Node]) -> ResourcesPerGpu:
    for node in nodes:
        shape = shape.fitted(
            where=f"The node {node.name}",
            n_gpus=node.count_gpus().total,
            n_cores=node.n_cores,
            memory_mib=node.memory_mib,
        )
    return shape


def describe_gpus(n_gpus: int, *, are_simulated: bool) -> str:
    """Return a number of GPUs with its noun, for example "2 simulated GPUs"."""
    if n_gpus == 0:
        return "no GPU"
    return count(n_gpus, "simulated GPU" if are_simulated else "GPU")


def normal_form(options: Mapping[str, object]) -> dict[str, object]:
    """Return options as they are kept for the next start.

    What a form left empty is left out; lists of one text become the text.
    """
    kept = {}
    for key, value in options.items():
        only = value[0] if isinstance(value, list) and len(value) == 1 else value
        if only not in ("", []):
            kept[key] = only
    return kept
