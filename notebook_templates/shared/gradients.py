"""How large the gradients of a network are, beside what numbers of 16 bits can hold."""

from __future__ import annotations

import numpy as np
from charts import panels
from digits_data import Digits
from quiet import quiet_libraries

with quiet_libraries():
    import keras
    import tensorflow as tf

# The smallest number above zero has 10 bits of fraction below 2 ** -14.
SMALLEST_FP16 = 2.0**-24
LARGEST_FP16 = 65504.0


def gradient_sizes(model: keras.Model, digits: Digits, n_images: int = 64) -> np.ndarray:
    """Return the sizes of all gradients of one batch, in FP32.

    Args:
        model: A network of FP32 that reads digits.
        digits: The batch is the beginning of its training images.
        n_images: Size of the batch.

    Returns:
        float32 (n,), absolute values above zero.
    """
    loss_of = keras.losses.SparseCategoricalCrossentropy()
    with tf.GradientTape() as tape:
        probabilities = model(digits.train_images[:n_images], training=True)
        loss = loss_of(digits.train_labels[:n_images], probabilities)
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    sizes = np.abs(np.concatenate([gradient.numpy().ravel() for gradient in gradients]))
    return sizes[sizes > 0]


def draw_gradient_sizes(sizes: np.ndarray, scale: float) -> None:
    """Draw how the sizes of gradients are spread, as they are and scaled, beside the end of FP16.

    Args:
        sizes: From `gradient_sizes`.
        scale: What the loss is multiplied with.
    """
    axis = panels(1)[0]
    edges = np.arange(-40, 23)
    for values, colour, name in (
        (sizes, "#c0362c", "as they are"),
        (sizes * scale, "#0b6bcb", f"of the loss times {scale:,.0f}"),
    ):
        axis.hist(np.log2(values), bins=edges, color=colour, alpha=0.55, label=name)
    smallest, largest = np.log2(SMALLEST_FP16), np.log2(LARGEST_FP16)
    axis.axvspan(edges[0], smallest, color="#9aa5b1", alpha=0.25)
    axis.axvspan(largest, edges[-1], color="#9aa5b1", alpha=0.25)
    axis.set(xlabel="size of a gradient, powers of 2", ylabel="gradients", yscale="log")
    axis.set_xlim(edges[0], edges[-1])
    top = axis.get_ylim()[1]
    axis.text(edges[0] + 0.5, top, "is 0 in FP16", va="top")
    axis.text(largest + 0.5, top, "too large", va="top")
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.93), fontsize=9)
