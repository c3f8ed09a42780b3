"""Logs what a training reports to the run of MLflow and to the TensorBoard writer that are open."""

import math
import time
from pathlib import Path
from typing import SupportsFloat

from dsportal.worker.logs import MlflowLog, TensorBoardLog

LOG_EVERY_S = 1.0


def number_of(loss: SupportsFloat) -> float:
    """Return a loss, of whatever framework, as a number.

    PyTorch warns of `float` if the loss has a gradient, numpy if it is an array of one element.
    """
    if not hasattr(loss, "item") and hasattr(loss, "numpy"):
        # TensorFlow's tensors and variables.
        loss = loss.numpy()
    return float(loss.item() if hasattr(loss, "item") else loss)


class TrainingLog:
    """Logs `loss` and `images_per_s` once a second to whatever the training has opened.

    The last step's loss is logged whenever it comes: it is the one that trainings are compared by.
    """

    def __init__(self) -> None:
        self._mlflow = MlflowLog()
        self._tensorboard = TensorBoardLog()
        self._n_steps = 0
        self._n_images = 0
        self._logged_at_s = -math.inf

    def note(
        self, step: int | None, n_images: int, loss: SupportsFloat | None, *, n_steps: int = 0
    ) -> None:
        """Take a report.

        Args:
            loss: Read only when it is logged, because that may wait for a GPU.
        """
        self._n_steps = self._n_steps + 1 if step is None else step
        self._n_images += n_images
        now_s = time.monotonic()
        passed_s = now_s - self._logged_at_s
        metrics = {}
        if passed_s >= LOG_EVERY_S:
            if rate := self._n_images / passed_s:
                metrics["images_per_s"] = rate
            self._n_images, self._logged_at_s = 0, now_s
        elif not n_steps or self._n_steps != n_steps:
            return
        for log in (self._mlflow, self._tensorboard):
            # Logging must never end a training.
            try:
                if log.is_open():
                    if loss is not None and "loss" not in metrics:
                        metrics["loss"] = number_of(loss)
                    log.write(metrics, self._n_steps)
            except Exception as error:
                log.failure.tell(str(error) or type(error).__name__)

    def tell(self, link_path: Path | None) -> None:
        """Have the list of runs told, in a file, which run of MLflow is this rank's."""
        self._mlflow.link_path = link_path

    def finish(self) -> None:
        """Tell the list of runs about a run of MLflow in which nothing was reported."""
        self._mlflow.finish()
