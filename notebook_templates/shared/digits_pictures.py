"""Pictures of digits and of how well they are read."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, PercentFormatter

_TRAINING_COLOUR = "#9aa5b1"
_TEST_COLOUR = "#0b6bcb"
_WRONG_COLOUR = "#c0362c"


def draw_digits(images: np.ndarray, labels: np.ndarray, n_digits: int = 20) -> None:
    """Draw the first digits with what they show.

    Args:
        images: float32 (n, 28, 28, 1), 0 is paper and 1 is ink.
        labels: int32 (n,).
        n_digits: How many, ten in a row.
    """
    _, axes = _sheet(n_digits)
    for axis, image, label in zip(axes, images, labels, strict=False):
        axis.imshow(image[:, :, 0], cmap="gray_r", vmin=0, vmax=1)
        axis.set_title(str(label), fontsize=9)


def draw_curves(steps: Sequence[int], training: Sequence[float], test: Sequence[float]) -> None:
    """Draw how the accuracy grew.

    Args:
        steps: Global steps, from 1.
        training: Training accuracy at each, 0 to 1.
        test: Test accuracy at each, 0 to 1.
    """
    _, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axis.plot(steps, training, color=_TRAINING_COLOUR, marker=".", label="training")
    axis.plot(steps, test, color=_TEST_COLOUR, marker=".", label="test")
    axis.annotate(
        f"{test[-1]:.1%}",
        (steps[-1], test[-1]),
        xytext=(6, 0),
        textcoords="offset points",
        color=_TEST_COLOUR,
        va="center",
        annotation_clip=False,
    )
    axis.set(xlabel="step", ylabel="accuracy", ylim=(0.9, 1.002))
    axis.yaxis.set_major_locator(MultipleLocator(0.02))
    axis.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)
    axis.legend(frameon=False, loc="lower right")


def draw_misread(
    images: np.ndarray, labels: np.ndarray, probabilities: np.ndarray, n_digits: int = 20
) -> None:
    """Draw the digits that were read wrongly, the surest mistakes first.

    Each title says what was read and what is meant.

    Args:
        images: float32 (n, 28, 28, 1).
        labels: int32 (n,).
        probabilities: float32 (n, 10), from `read_digits`.
        n_digits: At most so many, ten in a row.
    """
    read = probabilities.argmax(axis=1)
    wrong = np.flatnonzero(read != labels)
    surest = wrong[np.argsort(-probabilities[wrong, read[wrong]])][:n_digits]
    figure, axes = _sheet(max(len(surest), 1))
    for axis, index in zip(axes, surest, strict=False):
        axis.imshow(images[index, :, :, 0], cmap="gray_r", vmin=0, vmax=1)
        axis.set_title(f"{read[index]}, is {labels[index]}", fontsize=9, color=_WRONG_COLOUR)
    figure.suptitle(f"{len(wrong)} of {len(labels)} read wrongly", fontsize=10)


def draw_confusion(labels: np.ndarray, probabilities: np.ndarray) -> None:
    """Draw how often each digit was read as each other one.

    Args:
        labels: int32 (n,).
        probabilities: float32 (n, 10), from `read_digits`.
    """
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (labels, probabilities.argmax(axis=1)), 1)
    mistakes = counts - np.diag(np.diag(counts))
    _, axis = plt.subplots(figsize=(4.2, 4.2), layout="constrained")
    axis.imshow(mistakes, cmap="Reds", vmin=0, vmax=max(mistakes.max(), 1) * 1.4)
    for row, column in np.ndindex(10, 10):
        if counts[row, column]:
            colour = _TRAINING_COLOUR if row == column else "black"
            axis.text(column, row, counts[row, column], ha="center", va="center", color=colour)
    axis.set(xlabel="read as", ylabel="is", xticks=range(10), yticks=range(10))
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def draw_reading(images: np.ndarray, labels: np.ndarray, probabilities: np.ndarray) -> None:
    """Draw the first digits, each above the probabilities of the ten digits that it may be.

    Args:
        images: float32 (n, 28, 28, 1).
        labels: int32 (n,).
        probabilities: float32 (m, 10), from `read_digits`; m is at most 10.
    """
    n_digits = len(probabilities)
    _, axes = plt.subplots(
        2, n_digits, figsize=(9, 2.6), layout="constrained", height_ratios=(1, 1.4)
    )
    for (above, below), image, label, row in zip(
        axes.T, images, labels, probabilities, strict=False
    ):
        above.imshow(image[:, :, 0], cmap="gray_r", vmin=0, vmax=1)
        above.set_axis_off()
        is_right = row.argmax() == label
        colours = [_TRAINING_COLOUR] * 10
        colours[row.argmax()] = _TEST_COLOUR if is_right else _WRONG_COLOUR
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
