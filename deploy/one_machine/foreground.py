"""Runs the portal in the foreground, as process managers and containers want it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable


def stay(up: Callable[[], int], down: Callable[[], int]) -> int:
    """Set up, wait for a signal to stop, and stop.

    Args:
        up: deploy/up. It leaves SIGTERM and SIGINT raising KeyboardInterrupt.
        down: deploy/down.

    Returns:
        Exit status: 0 if everything ran and was stopped, else that of what failed.
    """
    try:
        status = up()
        if status == 0:
            # What was printed last says how to log in.
            sys.stdout.flush()
            _wait_for_signal()
    except KeyboardInterrupt:
        status = 0
    print("\nStopping ...", flush=True)
    # Also after a failure: what was started must not be left to be killed.
    return down() or status


def _wait_for_signal() -> None:
    while True:
        signal.pause()
