"""Cores and memory that come with each GPU."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dsportal.slurm.errors import OptionsError
from spawner.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What one session gets on its node.

    Attributes:
        n_gpus: GPUs, 0 or more.
        n_cores: CPU cores, 1 or more.
        memory_mib: Memory in MiB.
    """

    n_gpus: int
    n_cores: int
    memory_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesPerGpu:
    """The rule that turns a number of GPUs into cores and memory.

    Attributes:
        cores_per_gpu: CPU cores for each GPU, 1 or more.
        memory_mib_per_gpu: MiB for each GPU, 1 or more.
        cores_without_gpu: CPU cores of a session without a GPU, 1 or more.
        memory_mib_without_gpu: MiB of such a session, 1 or more.
        reason: Why these are less than the site's rule; empty if they are the rule.
    """

    cores_per_gpu: int
    memory_mib_per_gpu: int
    cores_without_gpu: int = 1
    memory_mib_without_gpu: int = 1024
    reason: str = ""

    def __post_init__(self) -> None:
        if self.cores_per_gpu < 1 or self.memory_mib_per_gpu < 1:
            raise SettingsError(
                f"Each GPU was given {self.cores_per_gpu} cores and {self.memory_mib_per_gpu} MiB, "
                "but both must be 1 or more. Correct cores_per_gpu and memory_mib_per_gpu."
            )

    def resources(self, n_gpus: int) -> Resources:
        """Return what a session with this many GPUs gets."""
        if n_gpus < 0:
            raise OptionsError(
                f"You asked for {n_gpus} GPUs, but the least is 0. Choose a larger number of GPUs."
            )
        if n_gpus == 0:
            return Resources(
                n_gpus=0,
                n_cores=self.cores_without_gpu,
                memory_mib=self.memory_mib_without_gpu,
            )
        return Resources(
            n_gpus=n_gpus,
            n_cores=self.cores_per_gpu * n_gpus,
            memory_mib=self.memory_mib_per_gpu * n_gpus,
        )

    def fitted(self, *, where: str, n_gpus: int, n_cores: int, memory_mib: int) -> ResourcesPerGpu:
        """Return this shape, lowered so that all GPUs of a node can be used at once.

        Args:
            where: The node's name in the reason, for example "node v100-01".

        Returns:
            This very shape if the node has enough for all its GPUs, else a smaller one with
            the reason.
        """
        if n_gpus < 1:
            return self
        # At least 1: to Slurm a memory of 0 is all that the node has.
        cores_per_gpu = max(1, min(self.cores_per_gpu, n_cores // n_gpus))
        memory_mib_per_gpu = max(1, min(self.memory_mib_per_gpu, memory_mib // n_gpus))
        if (cores_per_gpu, memory_mib_per_gpu) == (self.cores_per_gpu, self.memory_mib_per_gpu):
            return self
        return replace(
            self,
            cores_per_gpu=cores_per_gpu,
            memory_mib_per_gpu=memory_mib_per_gpu,
            reason=(
                f"{where} has {n_cores} cores and {memory_mib // 1024} GB for {n_gpus} GPUs, "
                f"so each GPU comes with {cores_per_gpu} cores and {memory_mib_per_gpu // 1024} GB."
            ),
        )
