"""A Keras 3 callback that saves a training and resumes it; reached as `horovod_keras.callbacks`."""

import json
from typing import Any

import horovod.tensorflow as _hvd
import keras
import numpy as np

from dsportal import checkpoint

# One folder, so that they are always of the same moment.
_NAME = "keras"
_WEIGHTS = "model.weights.h5"
_OPTIMIZER = "optimizer.npz"
_EPOCH = "epoch.json"


class CheckpointCallback(keras.callbacks.Callback):
    """Saves model, optimizer and epoch, and restores them in a run with resume=True.

    Rank 0 saves after each epoch, and when the time limit or a preemption is near; then all ranks
    end. An epoch that was cut short is trained again from its beginning, with the weights reached
    so far. Put it before BroadcastGlobalVariablesCallback.

    Args:
        every_epochs: Save after every so many epochs, 1 or more.
    """

    def __init__(self, every_epochs: int = 1) -> None:
        super().__init__()
        self._every_epochs = every_epochs
        self._epoch = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Restore what an earlier run has saved, if anything."""
        saved = checkpoint.latest(_NAME)
        if saved is None:
            return
        optimizer = self.model.optimizer
        # An optimizer has no variables to assign before it is built.
        if not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        self.model.load_weights(saved / _WEIGHTS)
        with np.load(saved / _OPTIMIZER) as values:
            for index, variable in enumerate(optimizer.variables):
                variable.assign(values[str(index)])
        self._epoch = int(json.loads((saved / _EPOCH).read_text())["epoch"])
        # Where `fit` begins to count; keras.callbacks.BackupAndRestore sets the same.
        self.model._initial_epoch = self._epoch

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Remember the epoch."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Save and end the run if the time limit or a preemption is near."""
        # Rank 0 alone, since ranks may see the warning at different steps.
        if _hvd.rank() == 0 and checkpoint.is_due():
            self._save(self._epoch)
            print(f"Saved in epoch {self._epoch + 1}; resume=True continues there.", flush=True)
            checkpoint.finish()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Save, every `every_epochs` epochs."""
        if _hvd.rank() == 0 and (epoch + 1) % self._every_epochs == 0:
            self._save(epoch + 1)

    def _save(self, epoch: int) -> None:
        values = {
            str(index): keras.ops.convert_to_numpy(variable)
            for index, variable in enumerate(self.model.optimizer.variables)
        }
        with checkpoint.writing(_NAME) as folder:
            folder.mkdir()
            self.model.save_weights(folder / _WEIGHTS)
            np.savez(folder / _OPTIMIZER, **values)
            (folder / _EPOCH).write_text(json.dumps({"epoch": epoch}))
