"""Pictures of photographs and of how fast they can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

_COLOURS = ("#9aa5b1", "#0b6bcb", "#c08a2c")


def draw_photos(images: np.ndarray, titles: list[str], n_columns: int = 5) -> None:
    """Draw images in rows.

    Args:
        images: (n, height, width, 3).
        titles: One for each.
        n_columns: Images in a row.
    """
    n_rows = -(-len(images) // n_columns)
    _, axes = plt.subplots(
        n_rows, n_columns, figsize=(9, 1.7 * n_rows), layout="constrained", squeeze=False
    )
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, image, title in zip(axes.flat, images, titles, strict=False):
        axis.imshow(image)
        axis.set_title(title, fontsize=9)


def draw_rates(reports: Mapping[str, Any], ways: Mapping[str, str], model: float) -> None:
    """Draw images/s by the way of reading and by place.

    Args:
        reports: Reports of `storage_report`, by the name of the place.
        ways: Words for the ways of reading, by name.
        model: Images/s that the model takes; drawn as a line.
    """
    _, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
    thickness = 0.8 / len(reports)
    for number, (place, report) in enumerate(reports.items()):
        rates = [report.images_per_s(way) for way in ways]
        where = np.arange(len(ways)) + (number - (len(reports) - 1) / 2) * thickness
        bars = axis.barh(where, rates, thickness * 0.92, color=_COLOURS[number], label=place)
        axis.bar_label(bars, labels=[f"{rate:,.0f}" for rate in rates], padding=3, fontsize=8)
    axis.axvline(model, color="#444", linewidth=1, linestyle="--")
    axis.annotate(
        f"this model: {model:,.0f}", (model, -0.65), xytext=(4, 0), textcoords="offset points",
        fontsize=8, color="#444",
    )  # fmt: skip
    axis.set_yticks(np.arange(len(ways)), list(ways.values()))
    axis.set(xlabel="images/s", ylim=(len(ways) - 0.4, -0.9))
    axis.margins(x=0.1)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", alpha=0.3)
    axis.legend(frameon=False, loc="upper right")
