"""Reports the progress of a rank; feeds the bar in the cell.

In the loop of a function that runs on ranks, with PyTorch or plain Python:

    from dsportal import report

    for step, (images, labels) in enumerate(batches, start=1):
        ...
        report(step=step, steps=len(batches), images=len(images), loss=loss)

Keras: `hvd.callbacks.ProgressCallback(batch_size)`, or `dsportal.frameworks.keras_progress`.
"""

import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import SupportsFloat

from dsportal.errors import LaunchError
from dsportal.rendezvous.client import StoreClient
from dsportal.task.throughput import Sample
from dsportal.worker.training_log import TrainingLog, number_of

SCOPE = "progress"
SEND_EVERY_S = 1.0
# Reports that the images/s are averaged over.
N_AVERAGED = 11


class Reporter:
    """Sends the newest report of this rank once a second, from a thread of its own.

    Args:
        client: Client of the progress scope of the run's store.
    """

    def __init__(self, client: StoreClient, rank: int) -> None:
        self._client = client
        self._key = str(rank)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._sample: Sample | None = None
        self._n_images = 0
        self._reported_at_s = 0.0
        self._asked_loss_at_s = 0.0
        self._thread = threading.Thread(target=self._send_on, daemon=True)
        self._counted: deque[tuple[float, int]] = deque(maxlen=N_AVERAGED)

    def note(
        self, step: int | None, n_steps: int, n_images: int, loss: SupportsFloat | None
    ) -> None:
        """Take a report; the thread sends it later.

        Args:
            step: Steps done; None for one more than before.
            n_steps: Steps of the whole training; 0 if not known.
            n_images: Images since the last report.
            loss: Read once a second only, because that may wait for a GPU.
        """
        now_s = time.monotonic()
        before = self._sample
        kept = None if before is None else before.loss
        if loss is not None and now_s - self._asked_loss_at_s >= SEND_EVERY_S:
            kept, self._asked_loss_at_s = number_of(loss), now_s
        done = before.step if before is not None else 0
        with self._lock:
            if before is None:
                # The first step includes what a framework prepares: it does not count.
                self._counted.append((now_s, 0))
            else:
                self._n_images += n_images
            self._reported_at_s = now_s
            self._sample = Sample(
                step=done + 1 if step is None else step, n_steps=n_steps, loss=kept
            )
        if before is None:
            self._thread.start()

    def finish(self) -> None:
        """Send the last report; the rank has done its work."""
        self._over.set()
        if self._sample is not None:
            # No earlier report may arrive after the last one.
            self._thread.join()
            self._send()

    def _send_on(self) -> None:
        self._send()
        while not self._over.wait(SEND_EVERY_S):
            self._send()

    def _send(self) -> None:
        # Reporting progress must never end a training.
        with suppress(LaunchError, OSError):
            self._client.put(self._key, self._word().as_bytes())

    def _word(self) -> Sample:
        with self._lock:
            sample = self._sample or Sample(step=0)
            if self._reported_at_s > self._counted[-1][0]:
                self._counted.append((self._reported_at_s, self._n_images))
            (began_s, n_first), (ended_s, n_last) = self._counted[0], self._counted[-1]
        is_stuck = time.monotonic() - ended_s > N_AVERAGED * SEND_EVERY_S
        rate = 0.0 if is_stuck or ended_s == began_s else (n_last - n_first) / (ended_s - began_s)
        return replace(sample, images_per_s=rate, is_done=self._over.is_set())


_reporters: list[Reporter] = []
_log = TrainingLog()


def report(
    *,
    step: int | None = None,
    steps: int = 0,
    images: int = 0,
    loss: SupportsFloat | None = None,
) -> None:
    """Report the progress of this rank; the cell that started the run shows all ranks in one bar.

    Costs a few microseconds, so every step may call it. Outside a run there is no bar, so that
    the same function can be tried in the notebook itself. Loss and images/s go to the run of MLflow
    that this process has started, too, and as `report/loss` and `report/images_per_s` to the
    TensorBoard writer that it has opened: TensorFlow's default writer, on ranks also PyTorch's
    newest SummaryWriter.

    Args:
        step: Steps done, from 1; None counts the calls.
        steps: Steps of the whole training; 0 if not known.
        images: Images of this rank since its last call.
        loss: The loss as a number or a tensor with one; read once a second, and at the last step.
    """
    for reporter in _reporters:
        reporter.note(step, steps, images, loss)
    _log.note(step, images, loss, n_steps=steps)


def begin(address: str, rank: int, mlflow_link: Path | None = None) -> Reporter:
    """Make `report` in this process report for a rank.

    Args:
        mlflow_link: File that tells which run of MLflow this rank logs to; None for none.
    """
    _log.tell(mlflow_link)
    reporter = Reporter(StoreClient(address, SCOPE), rank)
    _reporters[:] = [reporter]
    return reporter


def finish_logging() -> None:
    """Tell the list of runs which run of MLflow this rank has logged to, if it has."""
    _log.finish()
