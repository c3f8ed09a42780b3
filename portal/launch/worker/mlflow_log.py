"""Logs what a training reports to the MLflow run that it has started, if it has."""

from __future__ import annotations

import json
import math
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, SupportsFloat

LOG_EVERY_S = 1.0


class MlflowLog:
    """Logs `loss` and `images_per_s` once a second, in the background.

    Attributes:
        link_path: File to write that tells the list of runs which run of MLflow is this rank's;
            None for none.

    Source:
        mlflow 3.17: `synchronous=False` hands a metric to a thread, which MLflow empties at exit.
    """

    def __init__(self) -> None:
        self.link_path: Path | None = None
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
            self._link(mlflow, run)
            metrics = {"images_per_s": rate} if rate else {}
            if loss is not None:
                metrics["loss"] = float(loss)
            for name, value in metrics.items():
                client = mlflow.MlflowClient()
                client.log_metric(
                    run.info.run_id, name, value, step=self._n_steps, synchronous=False
                )

    def finish(self) -> None:
        """Tell the list of runs about a run of MLflow in which nothing was reported."""
        mlflow: Any = sys.modules.get("mlflow")
        if mlflow is None or self.link_path is None:
            return
        # A folder that is full or gone must not fail a training that has done its work.
        with suppress(Exception):
            if (run := mlflow.last_active_run()) is not None:
                self._link(mlflow, run)

    def _link(self, mlflow: Any, run: Any) -> None:
        if self.link_path is not None:
            link = {
                "tracking_uri": mlflow.get_tracking_uri(),
                "experiment_id": run.info.experiment_id,
                "run_id": run.info.run_id,
            }
            # Without it the list has no button; what is reported is logged all the same.
            with suppress(OSError):
                self.link_path.write_text(json.dumps(link), encoding="utf-8")
            # The first is the one that the list leads to.
            self.link_path = None
