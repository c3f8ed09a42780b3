"""The record of forecasts, kept in a file so that a restart of the hub loses nothing."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

from spawner.forecast_record import Accuracy, ForecastRecord


class ForecastFile:
    """A `ForecastRecord` that is written to a file after each change, outside the event loop.

    Args:
        path: The file, in a folder that only the hub can write; None keeps nothing.
        log: Where it is told that the file cannot be read or written; forecasts go on without.
    """

    def __init__(self, path: Path | None, *, log: logging.Logger) -> None:
        self._path = path
        self._log = log
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="forecasts")
        self._record = self._read()

    @property
    def accuracy(self) -> Accuracy | None:
        """What the forecasts were worth so far, or None before the first."""
        return self._record.accuracy

    def expect(self, session: str, starts_at: datetime, *, made_at: datetime) -> None:
        """Note what was forecast; see `ForecastRecord.expect`.

        Args:
            session: Anything that names the session, such as its mark.
            starts_at: The forecast start, with its time zone.
            made_at: When it was forecast.
        """
        self._record.expect(session, starts_at, made_at=made_at)
        self._save()

    def start(self, session: str, started_at: datetime) -> float | None:
        """Note that a session started; see `ForecastRecord.start`.

        Args:
            session: As given to `expect`.
            started_at: When Slurm started it, with its time zone.

        Returns:
            Seconds between forecast and start where the forecast counts, else None.
        """
        late_s = self._record.start(session, started_at)
        self._save()
        return late_s

    def forget(self, session: str) -> None:
        """Note that a session was cancelled before it started.

        Args:
            session: As given to `expect`.
        """
        if self._record.forget(session):
            self._save()

    def close(self) -> None:
        """Wait until everything is written."""
        self._writer.shutdown()

    def _read(self) -> ForecastRecord:
        if self._path is None or not self._path.exists():
            return ForecastRecord()
        try:
            return ForecastRecord.from_state(json.loads(self._path.read_text()))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            self._log.warning("%s cannot be read and begins anew: %s", self._path, error)
            return ForecastRecord()

    def _save(self) -> None:
        if self._path is not None:
            self._writer.submit(self._write, self._path, json.dumps(self._record.to_state()))

    def _write(self, path: Path, text: str) -> None:
        new_path = path.with_name(f".{path.name}.new")
        try:
            new_path.write_text(text)
            new_path.replace(path)
        except OSError as error:
            self._log.warning("%s cannot be written: %s", path, error.strerror)
