"""The training of digits on ranks, for notebooks that are about something else than its lines."""

from __future__ import annotations

import os
import time
from typing import Any

from digits_data import load_digits


def train_digits(
    epochs: int = 3, batch_size: int = 64, rate_of_one: float = 1e-3
) -> dict[str, Any]:
    """Train as one rank of `dsportal.run`; `templates/horovod/convert.ipynb` explains it.

    Args:
        epochs: Epochs, 1 or more.
        batch_size: Images of one rank in a step.
        rate_of_one: Learning rate that is right for one rank.

    Returns:
        The rank, its node, how many images it trained on, the test accuracy after each epoch, its
        images/s after the first epoch, and a checksum of its weights.
    """
    from digits_model import accuracy, make_model, weights_checksum
    from keras.optimizers import Adam
    from keras.utils import set_random_seed

    import dsportal.horovod_keras as hvd

    hvd.init()
    set_random_seed(1 + hvd.rank())
    mine = load_digits().share(hvd.rank(), hvd.size())
    rate = rate_of_one * hvd.size()
    model = make_model(moves_images=False)
    model.compile(
        optimizer=hvd.DistributedOptimizer(Adam(rate)),
        loss="sparse_categorical_crossentropy",
        jit_compile=False,
    )
    accuracies: list[float] = []
    ends: list[float] = []

    def note_epoch(epoch: int, logs: object) -> None:
        ends.append(time.perf_counter())
        accuracies.append(accuracy(model, mine.test_images, mine.test_labels))
        if hvd.rank() == 0:
            print(f"Epoch {epoch + 1}  test accuracy {accuracies[-1]:.4f}", flush=True)

    from keras.callbacks import LambdaCallback

    model.fit(
        mine.train_images,
        mine.train_labels,
        batch_size=batch_size,
        epochs=epochs,
        callbacks=[
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),
            hvd.callbacks.LearningRateWarmupCallback(rate, warmup_epochs=1),
            LambdaCallback(on_epoch_end=note_epoch),
        ],
        verbose=0,
    )
    seconds = (ends[-1] - ends[0]) / max(len(ends) - 1, 1)
    return {
        "rank": hvd.rank(),
        "node": os.environ.get("SLURMD_NODENAME", os.uname().nodename),
        "images": len(mine.train_images),
        "accuracies": accuracies,
        "images/s": len(mine.train_images) / seconds if seconds else 0.0,
        "weights": weights_checksum(model),
    }
