"""A checked request: what a session gets, under the operator's settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dsportal.amounts import count
from dsportal.slurm.errors import OptionsError
from spawner.errors import SettingsError
from spawner.options.job_options import JobOptions
from spawner.options.traits import SiteTraits, SpawnerTraits
from spawner.settings.rescue import RescueSettings
from spawner.settings.resources import ResourceSettings
from spawner.settings.traits import read_traits
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD
from spawner.slurm.nodes import Node
from spawner.slurm.resources import Resources, ResourcesPerGpu


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
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
    def rescue(
        cls, traits: SpawnerTraits, options: JobOptions, partition: str | None
    ) -> SessionRequest:
        """Return the small request, without a GPU, of a session for cleaning up a full home."""
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

    Returns:
        The shape, with the reason if it is lowered.
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
    if n_gpus == 0 or gpu_type == SHARD:
        return shape
    return catalog.once(
        ("shape", shape, n_gpus, partition, gpu_type),
        lambda: _fitted(shape, catalog.nodes_with(n_gpus, partition, gpu_type)),
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
