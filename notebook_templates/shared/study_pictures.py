"""Pictures of a scaling study: speed-up against ideal, batch sizes, and the prediction."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

from dsportal.advice import Advice
from dsportal.study import Study

_IDEAL = "#9aa5b1"
_MEASURED = "#0b6bcb"


def draw_speedup(study: Study) -> None:
    """Draw the speed-up and the efficiency of each shape against ideal.

    Args:
        study: With "1x1" first among its shapes.
    """
    rows = study.measurements
    names = [f"{row.config.n_nodes}x{row.config.ranks_per_node}" for row in rows]
    ideal = [row.config.shape.n_ranks for row in rows]
    speedups = [row.images_per_s / rows[0].images_per_s for row in rows]
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
    left.bar(names, ideal, color="white", edgecolor=_IDEAL, linestyle="--", label="ideal")
    bars = left.bar(names, speedups, color=_MEASURED, width=0.6, label="measured")
    left.bar_label(bars, fmt="{:.2f}", padding=2)
    left.set(title="speed-up", xlabel="nodes x ranks on each")
    left.margins(y=0.15)
    left.legend(frameon=False)
    efficiencies = [speedup / n for speedup, n in zip(speedups, ideal, strict=True)]
    right.bar(names, efficiencies, color=_MEASURED, width=0.6)
    right.axhline(1, color=_IDEAL, linestyle="--")
    right.set(title="efficiency", xlabel="nodes x ranks on each")
    right.margins(y=0.15)
    right.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)


def draw_batch_sizes(study: Study) -> None:
    """Draw images/s over the batch size, with the spread of the steps.

    Args:
        study: On one shape, with several batch sizes.
    """
    rows = sorted(study.measurements, key=lambda row: row.config.batch_size)
    sizes = [row.config.batch_size for row in rows]
    _, axis = plt.subplots(figsize=(7, 3.3), layout="constrained")
    axis.errorbar(
        sizes,
        [row.images_per_s for row in rows],
        yerr=[row.spread for row in rows],
        color=_MEASURED,
        marker="o",
        capsize=4,
    )
    axis.set(xlabel="images of a step on each rank", ylabel="images/s", ylim=(0, None))
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [str(size) for size in sizes])
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)


def draw_prediction(advice: Advice) -> None:
    """Draw the predicted speed-up for more GPUs, with its band.

    Args:
        advice: From a study or a probe.
    """
    rows = advice.predictions
    n_gpus = [row.n_gpus for row in rows]
    _, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    axis.plot(n_gpus, n_gpus, color=_IDEAL, linestyle="--", label="ideal")
    axis.fill_between(
        n_gpus,
        [row.lowest for row in rows],
        [row.highest for row in rows],
        color=_MEASURED,
        alpha=0.2,
        label="band",
    )
    axis.plot(n_gpus, [row.speedup for row in rows], color=_MEASURED, marker="o", label="predicted")
    axis.set(xlabel="GPUs", ylabel="speed-up", xscale="log", yscale="log")
    axis.set_xticks(n_gpus, [str(n) for n in n_gpus])
    axis.set_yticks(n_gpus, [str(n) for n in n_gpus])
    axis.minorticks_off()
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
