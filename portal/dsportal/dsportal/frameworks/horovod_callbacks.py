"""Keras 3 callbacks under Horovod's names; reached as `horovod_keras.callbacks`."""

from typing import Any

import horovod.tensorflow as _hvd
import keras
import tensorflow as tf

from dsportal.errors import LaunchError
from dsportal.frameworks.horovod_checkpoint import CheckpointCallback
from dsportal.frameworks.horovod_optimizer import check_optimizer
from dsportal.frameworks.keras_progress import ProgressCallback

__all__ = [
    "BroadcastGlobalVariablesCallback",
    "CheckpointCallback",
    "LearningRateWarmupCallback",
    "MetricAverageCallback",
    "ProgressCallback",
]


class BroadcastGlobalVariablesCallback(keras.callbacks.Callback):
    """Gives every rank the weights and optimizer state of one rank before training.

    It also refuses a model that would train without averaging: see `check_optimizer`.

    Args:
        root_rank: Rank whose values all others take.
    """

    def __init__(self, root_rank: int) -> None:
        super().__init__()
        self._root_rank = root_rank

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Build the optimizer, so that its state exists, and broadcast."""
        if not self.model.built:
            raise LaunchError(
                "The model has no weights before its first batch, so they cannot be made equal. "
                "Begin it with keras.Input(shape=...)."
            )
        check_optimizer(self.model)
        optimizer = self.model.optimizer
        # Keras would build it at the first step, too late for its state to be broadcast.
        if not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        # The optimizer's too: with other momenta the ranks would drift apart after the first step.
        variables = [*self.model.weights, *optimizer.variables]
        _hvd.broadcast_variables([variable.value for variable in variables], self._root_rank)


class MetricAverageCallback(keras.callbacks.Callback):
    """Replaces the metrics of an epoch by their averages over the ranks.

    Put it before callbacks that record these metrics or act on them.
    """

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Average `logs` in place; it must have the same keys on every rank."""
        if not logs or _hvd.size() == 1:
            return
        # One allreduce for all metrics, in the same order on every rank.
        names = sorted(logs)
        values = tf.constant([float(logs[name]) for name in names], dtype=tf.float64)
        averaged = _hvd.allreduce(values, op=_hvd.Average, name="portal_epoch_metrics").numpy()
        logs.update({name: float(value) for name, value in zip(names, averaged, strict=True)})


class LearningRateWarmupCallback(keras.callbacks.Callback):
    """Raises the learning rate from that of one rank to that of all ranks over the first epochs.

    Args:
        initial_lr: Rate after the warm-up, usually that of one rank times `hvd.size()`.
        warmup_epochs: Epochs of the warm-up, 1 or more.
        steps_per_epoch: Steps of an epoch; None takes it from `fit`.
        verbose: 1 prints the rate when the warm-up is over, on rank 0.

    Source:
        Goyal et al., Accurate, Large Minibatch SGD, 2017, section 2.2: gradual warm-up.
    """

    def __init__(
        self,
        initial_lr: float,
        warmup_epochs: int = 5,
        steps_per_epoch: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__()
        self._full_rate = initial_lr
        self._warmup_epochs = warmup_epochs
        self._steps_per_epoch = steps_per_epoch
        self._verbose = verbose
        self._epoch = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Determine the number of steps of an epoch."""
        self._steps_per_epoch = self._steps_per_epoch or self.params.get("steps")
        if not self._steps_per_epoch:
            raise LaunchError(
                "The warm-up cannot know how many steps an epoch has. Give "
                "LearningRateWarmupCallback a steps_per_epoch."
            )

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Remember the epoch."""
        self._epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Set the learning rate of this step."""
        if self._epoch >= self._warmup_epochs or not self._steps_per_epoch:
            return
        n_ranks = _hvd.size()
        progress = (self._epoch + (batch + 1) / self._steps_per_epoch) / self._warmup_epochs
        # From 1 / n_ranks to 1: `initial_lr` is the rate of all ranks already.
        factor = (1 + progress * (n_ranks - 1)) / n_ranks
        self.model.optimizer.learning_rate = self._full_rate * factor

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Print that the warm-up is over, if `verbose` is set."""
        if epoch == self._warmup_epochs - 1 and self._verbose and _hvd.rank() == 0:
            print(f"Epoch {epoch + 1}: warm-up is over, learning rate {self._full_rate:g}.")
