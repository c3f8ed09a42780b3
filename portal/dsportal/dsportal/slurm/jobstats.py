"""What jobstats measured of a job's GPUs, from the summary that it leaves in accounting."""

import base64
import json
import zlib
from dataclasses import dataclass

_BEGIN = "JS1:"
# A summary of some thousand GPUs has 100 KB.
_MOST_BYTES = 1 << 20
_BYTES_PER_MIB = 1 << 20
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSummary:
    """The GPUs of one job, over its whole time.

    Attributes:
        mean_percent: Use of all of them on average, 0 to 100.
        peak_memory_mib: The most memory in use of each, added up; None if not known.
    """

    mean_percent: float
    peak_memory_mib: int | None = None


def parse_jobstats(comment: str) -> GpuSummary | None:
    """Return the summary in a job's AdminComment.

    Returns:
        None for any other comment, for a job that was too short for jobstats, and if a GPU was
        not measured, as parts of GPUs (MIG) are not.

    Source:
        jobstats, docs/setup/summaries.md: gzip of JSON as base64, "JS1:Short" or "JS1:None". It
        takes `gpu_utilization` as Prometheus' avg_over_time and `gpu_used_memory`, in bytes, as
        max_over_time, by node and GPU.
    """
    if not comment.startswith(_BEGIN):
        return None
    try:
        packed = base64.b64decode(comment.removeprefix(_BEGIN))
        job = json.loads(zlib.decompressobj(_GZIP).decompress(packed, _MOST_BYTES))
        nodes, n_gpus = list(job["nodes"].values()), int(job["gpus"])
        percents = _of_gpus(nodes, "gpu_utilization")
        memory = _of_gpus(nodes, "gpu_used_memory")
    except (
        *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
        zlib.error,
    ):
        return None
    # Also not a number, which JSON of Python may hold.
    if not 0 < n_gpus <= len(percents) or not all(0 <= percent <= 100 for percent in percents):
        return None
    is_known = len(memory) == len(percents) and all(0 <= n_bytes < 1 << 60 for n_bytes in memory)
    return GpuSummary(
        mean_percent=sum(percents) / len(percents),
        peak_memory_mib=int(sum(memory)) // _BYTES_PER_MIB if is_known else None,
    )


def _of_gpus(nodes: list[dict[str, dict[str, float]]], name: str) -> list[float]:
    return [float(value) for node in nodes for value in node.get(name, {}).values()]
