"""Pictures of how fast a model answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt

_COLOURS = ("#9aa5b1", "#0b6bcb")


def draw_throughput(batch_sizes: Sequence[int], latencies_s: Mapping[str, Sequence[float]]) -> None:
    """Draw images/s and the time for one batch by batch size.

    Args:
        batch_sizes: Images of a batch.
        latencies_s: Seconds for a batch of each size, by precision.
    """
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for (name, times_s), colour in zip(latencies_s.items(), _COLOURS, strict=False):
        rates = [size / time_s for size, time_s in zip(batch_sizes, times_s, strict=True)]
        left.plot(batch_sizes, rates, color=colour, marker="o", label=name)
        milliseconds = [1000 * time_s for time_s in times_s]
        right.plot(batch_sizes, milliseconds, color=colour, marker="o", label=name)
    left.set(ylabel="images/s", ylim=(0, None))
    right.set(ylabel="ms for a batch", yscale="log")
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xticks(batch_sizes, [str(size) for size in batch_sizes])
        axis.set_xlabel("batch size")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
    left.legend(frameon=False)
