"""The tables [partitions.NAME] of portal.toml."""

from dataclasses import dataclass

from dsportal.amounts import MIB_PER_GIB
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class PartitionSettings:
    """A Slurm partition that is offered to users."""

    cores_per_gpu: int = setting(
        "CPU cores that come with each GPU in this partition. 0: those of [resources].",
        default=0,
        lowest=0,
        highest=1024,
    )
    memory_per_gpu_gib: float = setting(
        "Memory that comes with each GPU in this partition, in GiB. 0: that of [resources].",
        default=0.0,
        lowest=0,
        highest=16384,
    )

    @property
    def shape(self) -> dict[str, int]:
        """What differs from the site's rule, in the form of the spawner's `partition_shapes`."""
        own = {
            "cores_per_gpu": self.cores_per_gpu,
            # Slurm counts whole MiB.
            "memory_mib_per_gpu": round(self.memory_per_gpu_gib * MIB_PER_GIB),
        }
        # 0 is "not set".
        return {name: number for name, number in own.items() if number}
