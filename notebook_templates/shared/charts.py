"""Lines and bars in one look: compared runs beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter, StrMethodFormatter

COLOURS = ("#0b6bcb", "#e07b00", "#2e8b57", "#9b4dca", "#c0362c", "#6b7785")


def panels(n_panels: int, height: float = 3.3) -> list[Axes]:
    """Return empty charts beside each other.

    Args:
        n_panels: How many, 1 or more.
        height: Height in inches; the width is 9 inches for two and more, 7 for one.

    Returns:
        One pair of axes for each.
    """
    width = 9 if n_panels > 1 else 7
    _, axes = plt.subplots(
        1, n_panels, figsize=(width, height), layout="constrained", squeeze=False
    )
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    return list(axes.flat)


def draw_lines(
    axis: Axes,
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    xlabel: str,
    ylabel: str,
) -> None:
    """Draw a line for each run.

    Args:
        axis: Where to draw.
        lines: For each name the values along x and those along y.
        xlabel: What x is, with its unit.
        ylabel: What y is, with its unit; "accuracy" is drawn in percent.
    """
    for number, (name, (x, y)) in enumerate(lines.items()):
        axis.plot(x, y, color=COLOURS[number % len(COLOURS)], marker=".", label=name)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.grid(axis="y", alpha=0.3)
    if ylabel.endswith("accuracy"):
        axis.yaxis.set_major_formatter(PercentFormatter(1))
    if len(lines) > 1:
        axis.legend(frameon=False)


def draw_bars(
    axis: Axes, values: Mapping[str, float], *, xlabel: str, form: str = "{:,.0f}"
) -> None:
    """Draw a horizontal bar for each name, the first at the top.

    Args:
        axis: Where to draw.
        values: Lengths, 0 or more.
        xlabel: What the lengths are, with their unit.
        form: How a value is written at the end of its bar.
    """
    colours = [COLOURS[number % len(COLOURS)] for number in range(len(values))]
    bars = axis.barh(list(values), list(values.values()), color=colours, height=0.6)
    axis.bar_label(bars, [form.format(value) for value in values.values()], padding=4)
    axis.invert_yaxis()
    axis.set_xlabel(xlabel)
    axis.set_xlim(0, max([*values.values(), 1e-9]) * 1.18)
    axis.tick_params(axis="y", length=0)
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.locator_params(axis="x", nbins=5)
    if xlabel.endswith("accuracy"):
        axis.xaxis.set_major_formatter(PercentFormatter(1))


def draw_noisy(axis: Axes, values: Sequence[float], *, title: str, window: int = 25) -> None:
    """Draw a value of each step, thin, and its mean over some steps, bold.

    Args:
        axis: Where to draw, on a scale of powers of 10.
        values: One for each step, above 0.
        title: What they are.
        window: Steps of the mean.
    """
    mean = np.convolve(values, np.full(window, 1 / window), mode="valid")
    steps = np.arange(1, len(values) + 1)
    axis.plot(steps, values, color="#9aa5b1", linewidth=0.6)
    axis.plot(steps[window // 2 :][: len(mean)], mean, color=COLOURS[0], linewidth=1.8)
    axis.set(xlabel="step", yscale="log", title=title)
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_formatter("")
