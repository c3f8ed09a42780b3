"""Reads the ranks' progress reports from the store, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from dsportal.rendezvous.store import Store
from dsportal.task.folder import RunFolder
from dsportal.task.throughput import Throughput, ThroughputMeter, sample_of_bytes
from dsportal.worker.progress import SCOPE, SEND_EVERY_S


class ThroughputReader:
    """Follows the reports of a run from `with` to the end of its block.

    The newest pace is kept in the run's folder, where `attach` finds it.

    Args:
        on_pace: Takes each new pace; called from a thread of its own.
    """

    def __init__(
        self,
        store: Store,
        folder: RunFolder,
        n_ranks: int,
        on_pace: Callable[[Throughput], object],
    ) -> None:
        self._store = store
        self._folder = folder
        self._meter = ThroughputMeter(n_ranks)
        self._on_pace = on_pace
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read_on, daemon=True)

    def __enter__(self) -> ThroughputReader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _read_on(self) -> None:
        while not self._over.wait(SEND_EVERY_S):
            self._read()
        # Once more: ranks send their last report when they are done.
        self._read()

    def _read(self) -> None:
        for key, (heard_at_s, value) in self._store.received(SCOPE).items():
            # Ranks run the user's code, so a report may be anything.
            with suppress(ValueError):
                self._meter.feed(int(key), sample_of_bytes(value), heard_at_s)
        pace = self._meter.pace(time.monotonic())
        if pace is None:
            return
        # Progress must not end a training: a full disk ends it only if the training itself writes.
        with suppress(OSError):
            self._folder.write_throughput(pace)
        self._on_pace(pace)
