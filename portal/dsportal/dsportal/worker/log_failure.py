"""Tells once that what a training reports is not logged."""

from __future__ import annotations

import sys


class LogFailure:
    """Tells it in the output of the training, the first time.

    Args:
        place: Where it is not logged, such as MLflow.
    """

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
