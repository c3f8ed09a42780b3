"""A Keras callback that feeds the progress bar in the cell."""

from typing import Any

import keras

from dsportal.worker.progress import report


class ProgressCallback(keras.callbacks.Callback):
    """Reports each step of `fit` to the cell that started the run.

    Args:
        batch_size: Images of a step on this rank, for the images/s; 0 leaves them out.
    """

    def __init__(self, batch_size: int = 0) -> None:
        super().__init__()
        self._batch_size = batch_size
        self._n_steps = 0
        self._epoch = 0
        self._batch = 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Remember the epoch and its number of steps."""
        # If `fit` does not know the steps of an epoch, those counted in the last one.
        self._n_steps = self.params.get("steps") or self._batch
        self._epoch = epoch
        self._batch = 0

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Report the step, with the loss so far."""
        # More than 1 if Keras ran several steps in one call.
        n_new = batch + 1 - self._batch
        self._batch = batch + 1
        report(
            step=self._epoch * self._n_steps + self._batch,
            steps=self.params.get("epochs", 1) * self._n_steps,
            images=n_new * self._batch_size,
            loss=(logs or {}).get("loss"),
        )
