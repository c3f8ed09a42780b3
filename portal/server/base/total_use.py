"""What a session or a kernel's job has used since its start: averages, peaks and advice. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dsportal.amounts import MIB_PER_GIB
from portal.server.base.cgroup import Allotment
from portal.server.base.resource_usage import Sample

# Below the first a GPU does nothing, below the second it waits for something.
IDLE_BELOW_PERCENT = 5.0
WAITS_BELOW_PERCENT = 60.0
# A process whose one thread computes all the time.
FULL_CORE_PERCENT = 90.0
# Samples before which nothing is said, and the share of the time from which advice is given.
_LEAST_SAMPLES = 4
_OFTEN_PERCENT = 50.0


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount over time.

    Attributes:
        n: Samples that knew it.
    """

    n: int = 0
    total: float = 0.0
    peak: float = 0.0

    def plus(self, value: float | None) -> Amount:
        """Return it with one more sample of this `value`, in its own unit; None is not known."""
        if value is None:
            return self
        return Amount(self.n + 1, self.total + value, max(self.peak, value))

    @property
    def mean(self) -> float:
        """The average; 0 without a sample."""
        return self.total / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalUse:
    """All samples since the start, which stand for equally long times.

    Attributes:
        gpu_percent: Use of all GPUs on average.
        gpu_memory_mib: Memory of all GPUs together.
        cores: CPU cores that computed.
        idle_percent: 100 in a sample in which no GPU computed, else 0.
        cpu_wait_percent: 100 in a sample in which GPUs waited while a core or all were busy.
    """

    gpu_percent: Amount = Amount()
    gpu_memory_mib: Amount = Amount()
    cores: Amount = Amount()
    memory_mib: Amount = Amount()
    idle_percent: Amount = Amount()
    cpu_wait_percent: Amount = Amount()

    def plus(self, sample: Sample, allotment: Allotment) -> TotalUse:
        """Return it with one more sample of a job that may use `allotment`."""
        gpus = sample.gpus or ()
        uses = [gpu.use_percent for gpu in gpus if gpu.use_percent is not None]
        memory = [gpu.memory_mib for gpu in gpus if gpu.memory_mib is not None]
        cpu = sample.cpu_percent
        use = mean(uses)
        total = replace(
            self,
            gpu_percent=self.gpu_percent.plus(use),
            gpu_memory_mib=self.gpu_memory_mib.plus(sum(memory) if memory else None),
            cores=self.cores.plus(None if cpu is None else cpu / 100),
            memory_mib=self.memory_mib.plus(sample.memory_mib),
        )
        if use is None:
            return total
        is_cpu_busy = (sample.busiest_percent or 0.0) >= FULL_CORE_PERCENT or (
            cpu is not None and cpu >= FULL_CORE_PERCENT * allotment.n_cores
        )
        waits = use < WAITS_BELOW_PERCENT and is_cpu_busy
        return replace(
            total,
            idle_percent=self.idle_percent.plus(100.0 * (max(uses) < IDLE_BELOW_PERCENT)),
            cpu_wait_percent=self.cpu_wait_percent.plus(100.0 * waits),
        )

    @property
    def mean_gpu_percent(self) -> float | None:
        """Use of all GPUs on average, 0 to 100; None if too little was measured."""
        return self.gpu_percent.mean if self.gpu_percent.n >= _LEAST_SAMPLES else None

    def words(self, allotment: Allotment) -> str:
        """Return it in sentences, with one of advice; "" if too little was measured."""
        parts = []
        gpus, memory = self.gpu_percent, self.memory_mib
        if gpus.n >= _LEAST_SAMPLES:
            parts.append(
                f"GPUs {gpus.mean:.0f} % on average, at most {gpus.peak:.0f} %, idle "
                f"{self.idle_percent.mean:.0f} % of the time"
            )
        if self.gpu_memory_mib.n >= _LEAST_SAMPLES:
            parts.append(f"GPU memory {_gb(self.gpu_memory_mib)}")
        if self.cores.n >= _LEAST_SAMPLES:
            parts.append(
                f"{self.cores.mean:.1f} of {allotment.n_cores} cores on average, at most "
                f"{self.cores.peak:.1f}"
            )
        if memory.n >= _LEAST_SAMPLES:
            parts.append(f"memory {_gb(memory)}")
        if not parts:
            return ""
        return f"Used: {', '.join(parts)}. {self.advice}".strip()

    @property
    def advice(self) -> str:
        """One sentence about the GPUs; "" if nothing is to be said."""
        if self.gpu_percent.n < _LEAST_SAMPLES:
            return ""
        if self.cpu_wait_percent.mean >= _OFTEN_PERCENT:
            return (
                f"Your GPUs waited for the CPU {self.cpu_wait_percent.mean:.0f} % of the time: load"
                " data in several processes, prepare it once as shards, or ask for more cores with"
                " each GPU."
            )
        if self.idle_percent.mean >= _OFTEN_PERCENT:
            return (
                f"Your GPUs did nothing {self.idle_percent.mean:.0f} % of the time: give them back"
                " between trainings, or ask for them only for a cell: with gpus(1):"
            )
        return ""


def mean(values: Iterable[float | None]) -> float | None:
    """Return the average of those that are known; None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _gb(memory: Amount) -> str:
    mean, peak = memory.mean / MIB_PER_GIB, memory.peak / MIB_PER_GIB
    return f"{mean:.1f} GB on average, at most {peak:.1f} GB"
