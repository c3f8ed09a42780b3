"""The training steps that a scaling study runs on its ranks."""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from dsportal.rendezvous.client import StoreClient
from dsportal.scaling.study_config import Config

# Side of the square images that each network was designed for, in pixels.
MODELS = {"alexnet": 227, "inceptionv3": 299, "resnet50": 224, "vgg16": 224}
N_CLASSES = 1000
N_PROBE_WARMUP_STEPS = 2
LEAST_PROBE_STEPS = 3
# How far behind rank 0 another rank may be.
OTHERS_WITHIN_S = 300.0


def measure_steps(
    train: str | Callable[..., Callable[[], object]],
    config: Config,
    n_steps: int,
    n_warmup_steps: int,
) -> list[float]:
    """Return the seconds of each step of a training; runs on a rank.

    Args:
        train: A key of MODELS, which is trained on random images, or a user's own function. It
            takes batch size and precision, and returns a function that runs one step.
    """
    return _timed(_step_of(train, config), n_steps, n_warmup_steps)


def measure_for(
    train: str | Callable[..., Callable[[], object]], config: Config, budget_s: float
) -> list[float]:
    """Train for a limited time; runs on a rank.

    Args:
        train: As for `measure_steps`.

    Returns:
        Seconds of each measured step; the same number on every rank, as rank 0 decides it.
    """
    step = _step_of(train, config)
    # Frameworks compile and allocate in the first steps.
    _timed(step, 0, N_PROBE_WARMUP_STEPS)
    store = StoreClient(os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], "probe")
    is_first = os.environ["HOROVOD_RANK"] == "0"
    rounds = [_timed(step, LEAST_PROBE_STEPS, 0)]
    while True:
        key = f"round-{len(rounds)}"
        if is_first:
            # Ranks time their steps differently, and one with more steps would wait for the others.
            store.put(key, str(_n_more(rounds, budget_s)).encode())
        n_steps = int(store.wait(key, OTHERS_WITHIN_S))
        if not n_steps:
            break
        rounds.append(_timed(step, n_steps, 0))
    # Frameworks still prepare in the first round; it counts only if there is no other.
    return [step_s for times in rounds[1:] or rounds for step_s in times]


def _n_more(rounds: list[list[float]], budget_s: float) -> int:
    """Return the steps of the next round: at most twice those of the last; 0 to end."""
    left_s = budget_s - sum(map(sum, rounds))
    n_left = int(left_s / statistics.mean(rounds[-1]))
    # In growing rounds: the first, slow steps must not decide how many there are in all.
    return max(0, min(2 * len(rounds[-1]), n_left))


def _timed(step: Callable[[], object], n_steps: int, n_warmup_steps: int) -> list[float]:
    times_s = []
    for number in range(n_warmup_steps + n_steps):
        began = time.perf_counter()
        step()
        if number >= n_warmup_steps:
            times_s.append(time.perf_counter() - began)
    return times_s


def _step_of(
    train: str | Callable[..., Callable[[], object]], config: Config
) -> Callable[[], object]:
    # Frameworks read these once, when they are imported.
    if config.n_threads:
        os.environ["OMP_NUM_THREADS"] = str(config.n_threads)
        os.environ["TF_NUM_INTRAOP_THREADS"] = str(config.n_threads)
    if isinstance(train, str):
        return _keras_step(train, config)
    return train(config.batch_size, config.precision)


def _keras_step(name: str, config: Config) -> Callable[[], object]:
    import keras
    import numpy as np

    from dsportal import horovod_keras as hvd

    hvd.init()
    if config.precision == "mixed":
        keras.mixed_precision.set_global_policy("mixed_float16")
    model = _keras_model(name)
    optimizer: Any = keras.optimizers.SGD(0.01 * hvd.size(), momentum=0.9)
    if config.precision == "mixed":
        # Inside DistributedOptimizer: around it, ranks could skip different steps.
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(
        optimizer=hvd.DistributedOptimizer(optimizer),
        loss="sparse_categorical_crossentropy",
        jit_compile=False,
    )
    # Other images on each rank, as in a real training.
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
    # Without weights: nothing is downloaded, and the speed does not depend on them.
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
            # TensorFlow's guide to mixed precision: the last softmax stays in float32.
            layers.Dense(N_CLASSES, activation="softmax", dtype="float32"),
        ]
    )
