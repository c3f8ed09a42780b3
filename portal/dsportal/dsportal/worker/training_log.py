"""Logs what a training reports to the run of MLflow and to the TensorBoard writer that are open."""

import json
import logging
import math
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, SupportsFloat

from dsportal.rendezvous.torch_writers import newest_writer

LOG_EVERY_S = 1.0
# The logger of the thread of MLflow that writes metrics.
_LOGGER = "mlflow.utils.async_logging.async_logging_queue"
_NOT_WRITTEN = "Failed to log run data: Exception: "
# Apart from a chart of its own that the training may log under the same name.
_PREFIX = "report/"


def number_of(loss: SupportsFloat) -> float:
    """Return a loss, of whatever framework, as a number.

    PyTorch warns of `float` if the loss has a gradient, numpy if it is an array of one element.
    """
    if not hasattr(loss, "item") and hasattr(loss, "numpy"):
        # TensorFlow's tensors and variables.
        loss = loss.numpy()
    return float(loss.item() if hasattr(loss, "item") else loss)


class _LogFailure:
    """Tells it in the output of the training, the first time."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._is_told = False

    def tell(self, cause: str) -> None:
        """Tell the cause, unless one was told before."""
        if self._is_told:
            return
        self._is_told = True
        print(
            f"What report() was told is not logged to {self._place}: {cause}. The training "
            "continues. If a disk is full or a folder not writable, mend that: what is reported "
            "from then on is logged.",
            file=sys.stderr,
            flush=True,
        )


class _MlflowLog:
    """The run of MLflow that is active in this process.

    Attributes:
        link_path: File to write that tells the list of runs which run of MLflow is this rank's;
            None for none.

    Source:
        mlflow 3.17: `synchronous=False` hands a metric to a thread, which MLflow empties at exit.
    """

    def __init__(self) -> None:
        self.link_path: Path | None = None
        self.failure = _LogFailure("MLflow")

    def is_open(self) -> bool:
        # Not imported here: whoever has started a run has imported it.
        mlflow: Any = sys.modules.get("mlflow")
        return mlflow is not None and mlflow.active_run() is not None

    def write(self, metrics: Mapping[str, float], step: int) -> None:
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


class _TensorBoardLog:
    """TensorFlow's default writer, and the newest open writer of PyTorch.

    Source:
        TensorFlow 2: `should_record_summaries` is false if no writer is the default one.
    """

    def __init__(self) -> None:
        self.failure = _LogFailure("TensorBoard")

    def is_open(self) -> bool:
        return _tensorflow_writes() or newest_writer() is not None

    def write(self, metrics: Mapping[str, float], step: int) -> None:
        for name, value in metrics.items():
            if _tensorflow_writes():
                sys.modules["tensorflow"].summary.scalar(f"{_PREFIX}{name}", value, step=step)
            if (writer := newest_writer()) is not None:
                writer.add_scalar(f"{_PREFIX}{name}", value, global_step=step)


def _tensorflow_writes() -> bool:
    tensorflow: Any = sys.modules.get("tensorflow")
    # A module that is still being imported has no summaries.
    summary = getattr(tensorflow, "summary", None)
    return summary is not None and bool(summary.should_record_summaries())


class TrainingLog:
    """Logs `loss` and `images_per_s` once a second to whatever the training has opened.

    The last step's loss is logged whenever it comes: it is the one that trainings are compared by.
    """

    def __init__(self) -> None:
        self._mlflow = _MlflowLog()
        self._tensorboard = _TensorBoardLog()
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
