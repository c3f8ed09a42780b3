"""One sentence about what holds the GPUs up. Pure: from samples of the last minutes."""

from collections.abc import Callable, Sequence

from portal.server.base.cgroup import Allotment
from portal.server.base.gpus import GpuReading
from portal.server.base.resource_usage import Sample
from portal.server.base.total_use import (
    FULL_CORE_PERCENT,
    IDLE_BELOW_PERCENT,
    WAITS_BELOW_PERCENT,
    mean,
)

# A shorter time may be the start of a training, or the end of an epoch.
WINDOW_S = 120.0
_LEAST_COVERED_S = 60.0
BUSY_FROM_PERCENT = 90.0
LITTLE_MEMORY = 0.3
# Training in FP32 and many small kernels leave a GPU that is always busy far below its limit.
LITTLE_POWER = 0.5
READS_FROM_MIB_S = 1.0


def advise(samples: Sequence[Sample], allotment: Allotment) -> str | None:
    """Return what holds the GPUs up and what to do, or None if nothing is to be seen.

    Args:
        samples: Oldest first; those of the last two minutes count.
    """
    recent = [s for s in samples if samples[-1].at_s - s.at_s <= WINDOW_S and s.gpus]
    if not recent or recent[-1].at_s - recent[0].at_s < _LEAST_COVERED_S:
        return None
    n_gpus = min(len(sample.gpus or ()) for sample in recent)
    uses = [_of_gpu(recent, index, lambda gpu: gpu.use_percent) for index in range(n_gpus)]
    known = [(use, index) for index, use in enumerate(uses) if use is not None]
    busy = [(use, index) for use, index in known if use >= IDLE_BELOW_PERCENT]
    if not busy:
        return None
    if len(busy) < len(known):
        return (
            f"{len(busy)} of {n_gpus} GPUs compute: a program uses one GPU unless it is told "
            "otherwise. Train on all of them with dsportal.run(), or ask for fewer next time."
        )
    use, index = min(busy)
    if use < WAITS_BELOW_PERCENT:
        return _why_it_waits(recent, allotment, use, _of_gpu(recent, index, _memory_share))
    power = _of_gpu(recent, index, _power_share)
    if use >= BUSY_FROM_PERCENT and power is not None and power < LITTLE_POWER:
        return (
            f"The GPU is busy but draws only {100 * power:.0f} % of its power, as with FP32 or "
            "with many small operations: try mixed precision (BF16 or FP16), or a larger batch."
        )
    return None


def _why_it_waits(
    recent: Sequence[Sample], allotment: Allotment, use: float, memory: float | None
) -> str | None:
    waits = f"The GPU waits: it computes {use:.0f} % of the time"
    cpu = mean(sample.cpu_percent for sample in recent)
    if cpu is not None and cpu >= FULL_CORE_PERCENT * allotment.n_cores:
        return (
            f"{waits}, and all {allotment.n_cores} cores are busy. Prepare the data once, as "
            "shards of decoded or smaller images, or ask for more cores with the GPU."
        )
    busiest = mean(sample.busiest_percent for sample in recent)
    if busiest is not None and busiest >= FULL_CORE_PERCENT:
        return (
            f"{waits}, and one program is at {busiest:.0f} % of a CPU core. Load data in several "
            "processes (num_workers in PyTorch, num_parallel_calls in tf.data), or enlarge the "
            "batch if the data is in memory already."
        )
    reads = mean(sample.disk_read_mib_s for sample in recent)
    if reads is not None and reads >= READS_FROM_MIB_S:
        return (
            f"{waits}, and no CPU core is busy while programs read {reads:.0f} MiB/s: storage is "
            "slow. Read shards instead of single files, or read ahead (prefetch)."
        )
    if memory is not None and memory < LITTLE_MEMORY:
        return (
            f"{waits}, and {100 * memory:.0f} % of its memory is in use. A larger batch gives it "
            "more to do at once."
        )
    return None


def _memory_share(gpu: GpuReading) -> float | None:
    used, total = gpu.memory_mib, gpu.memory_total_mib
    return None if used is None or not total else used / total


def _power_share(gpu: GpuReading) -> float | None:
    drawn, limit = gpu.power_w, gpu.power_limit_w
    return None if drawn is None or not limit else drawn / limit


def _of_gpu(
    recent: Sequence[Sample], index: int, value: Callable[[GpuReading], float | None]
) -> float | None:
    return mean(value(sample.gpus[index]) for sample in recent if sample.gpus)
