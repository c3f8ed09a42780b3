"""Logs to the TensorBoard writer that a training has opened, if it has."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from dsportal.rendezvous.torch_writers import newest_writer
from dsportal.worker.log_failure import LogFailure

# Apart from a chart of its own that the training may log under the same name.
_PREFIX = "report/"


class TensorBoardLog:
    """TensorFlow's default writer, and the newest open writer of PyTorch.

    Source:
        TensorFlow 2: `should_record_summaries` is false if no writer is the default one.
    """

    def __init__(self) -> None:
        self.failure = LogFailure("TensorBoard")

    def is_open(self) -> bool:
        """Whether a writer is open."""
        return _tensorflow_writes() or newest_writer() is not None

    def write(self, metrics: Mapping[str, float], step: int) -> None:
        """Log metrics."""
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
