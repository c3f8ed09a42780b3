"""Logs to the run of MLflow that a training has started, if it has."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dsportal.worker.log_failure import LogFailure

# That of the thread that writes metrics.
_LOGGER = "mlflow.utils.async_logging.async_logging_queue"
_NOT_WRITTEN = "Failed to log run data: Exception: "


class MlflowLog:
    """The run of MLflow that is active in this process.

    Attributes:
        link_path: File to write that tells the list of runs which run of MLflow is this rank's;
            None for none.

    Source:
        mlflow 3.17: `synchronous=False` hands a metric to a thread, which MLflow empties at exit.
    """

    def __init__(self) -> None:
        self.link_path: Path | None = None
        self.failure = LogFailure("MLflow")

    def is_open(self) -> bool:
        """Whether a run is active."""
        # Not imported here: whoever has started a run has imported it.
        mlflow: Any = sys.modules.get("mlflow")
        return mlflow is not None and mlflow.active_run() is not None

    def write(self, metrics: Mapping[str, float], step: int) -> None:
        """Log metrics in the background."""
        mlflow: Any = sys.modules["mlflow"]
        run = mlflow.active_run()
        self._link(mlflow, run)
        # A filter that is there already is not added again.
        logging.getLogger(_LOGGER).addFilter(self._is_another_line)
        client = mlflow.MlflowClient()
        for name, value in metrics.items():
            client.log_metric(run.info.run_id, name, value, step=step, synchronous=False)

    def finish(self) -> None:
        """Tell the list of runs about a run of MLflow in which nothing was reported."""
        mlflow: Any = sys.modules.get("mlflow")
        if mlflow is None or self.link_path is None:
            return
        # A folder that is full or gone must not fail a training that has done its work.
        with suppress(Exception):
            if (run := mlflow.last_active_run()) is not None:
                self._link(mlflow, run)

    def _is_another_line(self, record: logging.LogRecord) -> bool:
        # MLflow would say it with each metric that it cannot write.
        _, is_failure, cause = record.getMessage().partition(_NOT_WRITTEN)
        if is_failure:
            self.failure.tell(cause)
        return not is_failure

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
