"""What the lessons share: where the digits lie, their pictures, and what a speed-up means.

Data loading, model and training stand in each notebook.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from digits_data import DataError, find_digits
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

_GREY, _BLUE, _RED = "#9aa5b1", "#0b6bcb", "#c0362c"
_COLOURS = (_GREY, _BLUE, "#e07b00", "#2e8b57")
# Below this part of the ideal speed-up the notebooks say what holds the ranks up.
_GOOD_EFFICIENCY = 0.8


def digits_path() -> Path:
    """Return the NumPy file with `x`, uint8 (10000, 28, 28), and `y`, uint8 (10000,).

    Raises:
        DataError: If the site does not have it.

    Source:
        MNIST, Y. LeCun, C. Cortes, C. J. C. Burges: 10,000 of its 60,000 training images.
    """
    path = find_digits()
    if not path.exists():
        raise DataError(
            f"The digits are not at {path}. On a cluster an administrator brings them with "
            "'deploy/site/install', on a single machine with 'deploy/environments/build datasets'."
        )
    return path


def explain_speedup(one_images_per_s: float, all_images_per_s: float, n_ranks: int) -> str:
    """Say whether several GPUs were faster than one, and why or why not."""
    ratio = all_images_per_s / one_images_per_s
    said = (
        f"1 GPU: {one_images_per_s:,.0f} images/s; {n_ranks} GPUs: {all_images_per_s:,.0f} "
        f"images/s, {ratio:.2f} times as fast."
    )
    if n_ranks == 1:
        return f"{said} There was only one GPU to try."
    if os.environ.get("PORTAL_GPUS_SIMULATED") == "1":
        return (
            f"{said}\nThese GPUs are simulated: the ranks compute on the same cores. The figure "
            "shows how well they share them with each other and with what else runs there, not "
            "what real GPUs would gain."
        )
    if ratio >= _GOOD_EFFICIENCY * n_ranks:
        return f"{said}\nThe rest of the ideal {n_ranks} times went into averaging the gradients."
    return (
        f"{said}\nThe network is so small that a step is short, and averaging the gradients takes "
        "much of it. A larger network or a larger batch gains more."
    )


def draw_digits(images: np.ndarray, labels: np.ndarray, n_digits: int = 20) -> None:
    """Draw the first digits, float (n, 28, 28, 1) with ink as 1, with their labels."""
    _, axes = _sheet(n_digits)
    for axis, image, label in zip(axes, images, labels, strict=False):
        axis.imshow(image[:, :, 0], cmap="gray_r", vmin=0, vmax=1)
        axis.set_title(str(label), fontsize=9)


def draw_curves(curves: Mapping[str, Sequence[float]], ylabel: str = "accuracy") -> None:
    """Draw a line for each name, with one value for each epoch; accuracies are drawn in percent."""
    _, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for (name, values), colour in zip(curves.items(), _COLOURS, strict=False):
        axis.plot(range(1, len(values) + 1), values, color=colour, marker=".", label=name)
    axis.set(xlabel="epoch", ylabel=ylabel)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if ylabel == "accuracy":
        axis.yaxis.set_major_formatter(PercentFormatter(1))
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)
    axis.legend(frameon=False)


def draw_mistakes(
    images: np.ndarray, labels: np.ndarray, probabilities: np.ndarray, n_digits: int = 20
) -> None:
    """Draw the digits that were misread, the most confident mistakes first.

    Args:
        images: float (n, 28, 28, 1), 0 is paper and 1 is ink.
        labels: Whole numbers (n,), 0 to 9.
        probabilities: float (n, 10), as the network predicts them.
        n_digits: At most so many, ten in a row.
    """
    predicted = probabilities.argmax(axis=1)
    wrong = np.flatnonzero(predicted != labels)
    confident = wrong[np.argsort(-probabilities[wrong, predicted[wrong]])][:n_digits]
    figure, axes = _sheet(max(len(confident), 1))
    for axis, index in zip(axes, confident, strict=False):
        axis.imshow(images[index, :, :, 0], cmap="gray_r", vmin=0, vmax=1)
        title = f"read {predicted[index]}, is {labels[index]}"
        axis.set_title(title, fontsize=9, color=_RED)
    figure.suptitle(f"{len(wrong)} of {len(labels)} misread", fontsize=10)


def draw_confusion(labels: np.ndarray, probabilities: np.ndarray) -> None:
    """Draw the confusion matrix: a row for each digit, a column for each prediction."""
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (labels, probabilities.argmax(axis=1)), 1)
    mistakes = counts - np.diag(np.diag(counts))
    _, axis = plt.subplots(figsize=(4.2, 4.2), layout="constrained")
    axis.imshow(mistakes, cmap="Reds", vmin=0, vmax=max(mistakes.max(), 1) * 1.4)
    for row, column in np.ndindex(10, 10):
        if counts[row, column]:
            colour = _GREY if row == column else "black"
            axis.text(column, row, counts[row, column], ha="center", va="center", color=colour)
    axis.set(xlabel="predicted", ylabel="true", xticks=range(10), yticks=range(10))
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def draw_predictions(images: np.ndarray, labels: np.ndarray, probabilities: np.ndarray) -> None:
    """Draw at most ten digits, each above the probabilities of the ten digits that it may be."""
    _, axes = plt.subplots(
        2, len(probabilities), figsize=(9, 2.6), layout="constrained", height_ratios=(1, 1.4)
    )
    for (above, below), image, label, row in zip(
        axes.T, images, labels, probabilities, strict=False
    ):
        above.imshow(image[:, :, 0], cmap="gray_r", vmin=0, vmax=1)
        above.set_axis_off()
        colours = [_GREY] * 10
        colours[row.argmax()] = _BLUE if row.argmax() == label else _RED
        below.barh(range(10), row, color=colours)
        below.set(xlim=(0, 1), ylim=(9.6, -0.6), xticks=[], yticks=range(10))
        below.tick_params(axis="y", length=0, labelsize=7)
        below.spines[["top", "right", "bottom"]].set_visible(False)


def _sheet(n_digits: int) -> tuple[Figure, list[plt.Axes]]:
    n_rows = -(-n_digits // 10)
    figure, axes = plt.subplots(
        n_rows, 10, figsize=(9, 1.15 * n_rows + 0.3), layout="constrained", squeeze=False
    )
    for axis in axes.flat:
        axis.set_axis_off()
    return figure, list(axes.flat)
