"""Logs what a training reports to the MLflow run that it has started, if it has."""

from __future__ import annotations

import math
import sys
import time
from contextlib import suppress
from typing import Any, SupportsFloat

LOG_EVERY_S = 1.0


class MlflowLog:
    """Logs `loss` and `images_per_s` once a second, in the background.

    Source:
        mlflow 3.17: `synchronous=False` hands a metric to a thread, which MLflow empties at exit.
    """

    def __init__(self) -> None:
        self._n_steps = 0
        self._n_images = 0
        self._logged_at_s = -math.inf

    def note(self, step: int | None, n_images: int, loss: SupportsFloat | None) -> None:
        """Take a report.

        Args:
            step: Steps done; None for one more than before.
            n_images: Images since the last report.
            loss: Read only when it is logged, because that may wait for a GPU.
        """
        self._n_steps = self._n_steps + 1 if step is None else step
        # Not imported here: whoever has started a run has imported it.
        mlflow: Any = sys.modules.get("mlflow")
        if mlflow is None:
            return
        self._n_images += n_images
        now_s = time.monotonic()
        passed_s = now_s - self._logged_at_s
        if passed_s < LOG_EVERY_S:
            return
        rate = self._n_images / passed_s
        self._n_images, self._logged_at_s = 0, now_s
        # Logging must never end a training.
        with suppress(Exception):
            if (run := mlflow.active_run()) is None:
                return
            metrics = {"images_per_s": rate} if rate else {}
            if loss is not None:
                metrics["loss"] = float(loss)
            for name, value in metrics.items():
                client = mlflow.MlflowClient()
                client.log_metric(
                    run.info.run_id, name, value, step=self._n_steps, synchronous=False
                )
