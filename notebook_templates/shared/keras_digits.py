"""A network in Keras alone: it runs on TensorFlow, PyTorch and JAX, and is exchanged between them.

KERAS_BACKEND=torch python keras_digits.py train digits.keras 3
KERAS_BACKEND=tensorflow python keras_digits.py read digits.keras probabilities.npy
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np
from digits_data import load_digits
from quiet import quiet_libraries

with quiet_libraries():
    import keras
    from keras import layers, ops

N_TRAINING_IMAGES = 3_000
VALIDATION = slice(7_000, 8_000)


@keras.saving.register_keras_serializable(package="portal")
class Standardize(layers.Layer):
    """Gives each image the mean 0 and the spread 1, with `keras.ops`, as on any backend."""

    def call(self, images: Any) -> Any:
        """Standardize.

        Args:
            images: float32 (n, 28, 28, 1).

        Returns:
            The same shape.
        """
        mean = ops.mean(images, axis=(1, 2, 3), keepdims=True)
        spread = ops.std(images, axis=(1, 2, 3), keepdims=True)
        return (images - mean) / (spread + 1e-3)


def make_model() -> keras.Model:
    """Return a small convolutional network, compiled, with weights of a fixed seed.

    Returns:
        Model from float32 (n, 28, 28, 1) to the probabilities of the ten digits.
    """
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            Standardize(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,  # PyTorch has no XLA: like is compared with like
    )
    return model


def train(path: str, epochs: int) -> dict[str, Any]:
    """Train and save.

    Args:
        path: Where the model goes, with the suffix .keras.
        epochs: Epochs, 2 or more.

    Returns:
        The backend, the validation accuracy after each epoch, and images/s after the first, with
        the time of the validation.
    """
    digits = load_digits()
    model = make_model()
    ends: list[float] = []
    history = model.fit(
        digits.train_images[:N_TRAINING_IMAGES],
        digits.train_labels[:N_TRAINING_IMAGES],
        batch_size=64,
        epochs=epochs,
        validation_data=(digits.train_images[VALIDATION], digits.train_labels[VALIDATION]),
        callbacks=[
            keras.callbacks.LambdaCallback(
                on_epoch_begin=lambda epoch, logs: ends.append(time.perf_counter())
            )
        ],
        verbose=0,
    )
    model.save(path)
    seconds = (ends[-1] - ends[0]) / (epochs - 1)
    return {
        "backend": keras.backend.backend(),
        "accuracies": [float(value) for value in history.history["val_accuracy"]],
        "images/s": N_TRAINING_IMAGES / seconds,
    }


def read(path: str, target: str) -> dict[str, Any]:
    """Read the test digits with a saved model.

    Args:
        path: The model.
        target: NumPy file for the probabilities, float32 (2000, 10).

    Returns:
        The backend and the accuracy.
    """
    digits = load_digits()
    model = keras.models.load_model(path)
    probabilities = model.predict(digits.test_images, verbose=0)
    np.save(target, probabilities)
    is_right = probabilities.argmax(axis=1) == digits.test_labels
    return {"backend": keras.backend.backend(), "accuracy": float(is_right.mean())}


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if sys.argv[1] == "train":
        print(json.dumps(train(sys.argv[2], int(sys.argv[3]))))
    else:
        print(json.dumps(read(sys.argv[2], sys.argv[3])))
