"""The network that reads handwritten digits, and how its training is reported."""

from __future__ import annotations

import hashlib
import os

import numpy as np
from digits_data import Digits
from quiet import quiet_libraries

with quiet_libraries():
    import keras
    import tensorflow as tf
    from keras import layers


def make_model(*, moves_images: bool = True) -> keras.Model:
    """Return a small convolutional network with fresh weights, not compiled.

    Args:
        moves_images: Whether each image is moved by up to 2 pixels and turned by up to 11 degrees
            while it trains, so that it sees more hands than there are.

    Returns:
        Model from float32 (n, 28, 28, 1), values 0 to 1, to the probabilities of the ten digits.
    """
    moves = [
        layers.RandomTranslation(0.07, 0.07, fill_mode="constant"),
        layers.RandomRotation(0.03, fill_mode="constant"),
    ]
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            *(moves if moves_images else []),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.4),
            # Probabilities stay in FP32 where the rest of the network is in 16 bits.
            layers.Dense(10, activation="softmax", dtype="float32"),
        ]
    )


class AccuracyReport(keras.callbacks.Callback):
    """Prints training and test accuracy as the training goes, and keeps them for the curves.

    Args:
        digits: Both are measured on 2,000 images each.
        every_steps: Steps between two reports.

    Attributes:
        steps: Global step of each report, from 1.
        training: Share of training images that were read rightly, 0 to 1.
        test: The same of test images.
    """

    def __init__(self, digits: Digits, every_steps: int = 100) -> None:
        super().__init__()
        self._digits = digits
        self._every_steps = every_steps
        self._epoch = 1
        self._global_step = 0
        self.steps: list[int] = []
        self.training: list[float] = []
        self.test: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        """Note the epoch."""
        self._epoch = epoch + 1

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Report, at every so many steps."""
        self._global_step += 1
        if self._global_step % self._every_steps == 1:
            self._report()

    def on_train_end(self, logs: dict | None = None) -> None:
        """Report how it ended."""
        self._report()

    def _report(self) -> None:
        digits = self._digits
        n_images = len(digits.test_images)
        self.steps.append(self._global_step)
        self.training.append(
            accuracy(self.model, digits.train_images[:n_images], digits.train_labels[:n_images])
        )
        self.test.append(accuracy(self.model, digits.test_images, digits.test_labels))
        print(
            f"Epoch {self._epoch} Global Step {self._global_step}, "
            f"Training Accuracy {self.training[-1]:.4f}\nTest Accuracy {self.test[-1]:.4f}",
            flush=True,
        )


def accuracy(model: keras.Model, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of images that a model reads rightly.

    Args:
        model: The model.
        images: float32 (n, 28, 28, 1).
        labels: int32 (n,).

    Returns:
        0 to 1.
    """
    return float(np.mean(read_digits(model, images).argmax(axis=1) == labels))


def read_digits(model: keras.Model, images: np.ndarray) -> np.ndarray:
    """Return the probability of each digit for each image.

    Args:
        model: The model.
        images: float32 (n, 28, 28, 1).

    Returns:
        float32 (n, 10); rows add up to 1.
    """
    return np.asarray(model(images, training=False), dtype=np.float32)


def weights_checksum(model: keras.Model) -> str:
    """Return a short checksum that two models share only if all their weights are equal.

    Args:
        model: The model.

    Returns:
        The first 16 hexadecimal digits of the SHA-256 of all weights.
    """
    digest = hashlib.sha256()
    for weights in model.get_weights():
        digest.update(np.ascontiguousarray(weights).tobytes())
    return digest.hexdigest()[:16]


def describe_devices() -> str:
    """Say in a sentence what this notebook trains on.

    Returns:
        The GPUs that TensorFlow sees, or else the cores.
    """
    gpus = tf.config.list_physical_devices("GPU")
    versions = f"TensorFlow {tf.__version__}, Keras {keras.__version__}"
    if gpus:
        names = {tf.config.experimental.get_device_details(gpu)["device_name"] for gpu in gpus}
        return f"{versions}; trains on {len(gpus)} GPUs: {', '.join(sorted(names))}."
    n_cores = len(os.sched_getaffinity(0))
    if os.environ.get("PORTAL_GPUS_SIMULATED") == "1":
        return f"{versions}; the GPUs here are simulated: trains on {n_cores} cores."
    return f"{versions}; TensorFlow sees no GPU: trains on {n_cores} cores."
