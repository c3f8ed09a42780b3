"""Tables [partitions.NAME], [groups.NAME] and [users.NAME] of portal.toml."""

from __future__ import annotations

from dataclasses import dataclass

from dsportal.amounts import MIB_PER_GIB
from spawner.settings.choices import check_slurm_names
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


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """Lower limits, for the members of a UNIX group or for a user.

    If a user is in several groups, the most generous limit counts; a user's own replaces them.
    """

    max_gpus: int = setting(
        "Most GPUs of one session. 0: no limit of its own.",
        default=0,
        example=1,
        lowest=0,
        highest=1024,
    )
    max_hours: float = setting(
        "Longest session, in hours. 0: no limit of its own.",
        default=0.0,
        example=4.0,
        lowest=0,
        highest=8760,
    )
    partitions: tuple[str, ...] = setting(
        "The only partitions offered. Empty: all of the site's.",
        default=(),
        check=check_slurm_names,
    )

    @property
    def entry(self) -> dict[str, object]:
        """What is limited, in the form of the spawner's `group_limits`."""
        own: dict[str, object] = {
            "max_gpus": self.max_gpus,
            "max_hours": self.max_hours,
            "partitions": list(self.partitions),
        }
        # 0 and an empty list are "no limit of its own".
        return {name: limit for name, limit in own.items() if limit}
