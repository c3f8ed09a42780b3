"""What a scaling study runs on its ranks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from portal.launch.study_config import Config

# Side of the square images that each network was made for.
MODELS = {"alexnet": 227, "inceptionv3": 299, "resnet50": 224, "vgg16": 224}
N_CLASSES = 1000


def measure_model(name: str, config: Config, n_steps: int, n_warmup_steps: int) -> list[float]:
    """Train a network on made-up images; runs on a rank.

    Args:
        name: One of MODELS.
        config: Batch size, precision and threads.
        n_steps: Steps that count.
        n_warmup_steps: Steps before them.

    Returns:
        Seconds of each step that counts.
    """
    _set_threads(config)
    return _timed(_keras_step(name, config), n_steps, n_warmup_steps)


def measure_function(
    make_step: Callable[..., Callable[[], object]],
    config: Config,
    n_steps: int,
    n_warmup_steps: int,
) -> list[float]:
    """Run a user's own steps; runs on a rank.

    Args:
        make_step: Takes batch size and precision, returns a function that makes one step.
        config: Batch size, precision and threads.
        n_steps: Steps that count.
        n_warmup_steps: Steps before them.

    Returns:
        Seconds of each step that counts.
    """
    _set_threads(config)
    step = make_step(config.batch_size, config.precision)
    return _timed(step, n_steps, n_warmup_steps)


def _timed(step: Callable[[], object], n_steps: int, n_warmup_steps: int) -> list[float]:
    times_s = []
    for number in range(n_warmup_steps + n_steps):
        began = time.perf_counter()
        step()
        if number >= n_warmup_steps:
            times_s.append(time.perf_counter() - began)
    return times_s


def _set_threads(config: Config) -> None:
    # Before a framework is imported: later it no longer looks.
    if config.n_threads:
        os.environ["OMP_NUM_THREADS"] = str(config.n_threads)
        os.environ["TF_NUM_INTRAOP_THREADS"] = str(config.n_threads)


def _keras_step(name: str, config: Config) -> Callable[[], object]:
    import keras
    import numpy as np

    import portal.launch.horovod_keras as hvd

    hvd.init()
    if config.precision == "mixed":
        keras.mixed_precision.set_global_policy("mixed_float16")
    model = _keras_model(name)
    optimizer: Any = keras.optimizers.SGD(0.01 * hvd.size(), momentum=0.9)
    if config.precision == "mixed":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(
        optimizer=hvd.DistributedOptimizer(optimizer),
        loss="sparse_categorical_crossentropy",
        jit_compile=False,
    )
    chance = np.random.default_rng(hvd.rank())
    side = MODELS[name]
    images = chance.random((config.batch_size, side, side, 3), dtype=np.float32)
    labels = chance.integers(0, N_CLASSES, config.batch_size)
    return lambda: model.train_on_batch(images, labels)


def _keras_model(name: str) -> Any:
    import keras

    if name == "alexnet":
        return _alexnet()
    applications = {
        "inceptionv3": keras.applications.InceptionV3,
        "resnet50": keras.applications.ResNet50,
        "vgg16": keras.applications.VGG16,
    }
    return applications[name](weights=None, classes=N_CLASSES)


def _alexnet() -> Any:
    """Return AlexNet, in one column.

    Source:
        Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014.
    """
    import keras
    from keras import layers

    side = MODELS["alexnet"]
    return keras.Sequential(
        [
            keras.Input((side, side, 3)),
            layers.Conv2D(64, 11, strides=4, activation="relu"),
            layers.MaxPooling2D(3, strides=2),
            layers.Conv2D(192, 5, padding="same", activation="relu"),
            layers.MaxPooling2D(3, strides=2),
            layers.Conv2D(384, 3, padding="same", activation="relu"),
            layers.Conv2D(256, 3, padding="same", activation="relu"),
            layers.Conv2D(256, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(3, strides=2),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(4096, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(4096, activation="relu"),
            layers.Dense(N_CLASSES, activation="softmax", dtype="float32"),
        ]
    )
