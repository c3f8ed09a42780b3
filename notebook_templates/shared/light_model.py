"""A light network for images of 224 x 224, and how many of them it takes in a second."""

from __future__ import annotations

import time

import numpy as np
from quiet import quiet_libraries

with quiet_libraries():
    import keras
    from keras import layers


def make_light_model(n_classes: int) -> keras.Model:
    """Return a small network, compiled, in the spirit of AlexNet: few layers, much input.

    Args:
        n_classes: Classes to tell apart.

    Returns:
        Model from float32 (n, 224, 224, 3), 0 to 1, to probabilities.
    """
    model = keras.Sequential(
        [
            keras.Input((224, 224, 3)),
            layers.Conv2D(8, 8, strides=8, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.Conv2D(32, 3, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(n_classes, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    return model


def training_rate(
    model: keras.Model, images: np.ndarray, labels: np.ndarray, seconds: float = 3
) -> float:
    """Train on the same batch again and again: the rate with nothing to read or to decode.

    Args:
        model: Compiled.
        images: One batch.
        labels: Its labels.
        seconds: For how long.

    Returns:
        Images a second.
    """
    model.train_on_batch(images, labels)
    began_s, n_steps = time.monotonic(), 0
    while time.monotonic() - began_s < seconds:
        model.train_on_batch(images, labels)
        n_steps += 1
    return n_steps * len(images) / (time.monotonic() - began_s)
