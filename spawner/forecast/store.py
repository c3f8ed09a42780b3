"""The record of forecasts in a file, so that it survives a restart of the hub."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Any

from spawner.forecast.accuracy import Accuracy, ForecastRecord
from spawner.json_file import JsonFile


class ForecastFile:
    """A `ForecastRecord` that is saved after each change, outside the event loop.

    Args:
        path: In a folder that only the hub can write; None keeps nothing.
        log: Gets a warning if the file cannot be read or written; forecasts continue without it.
    """

    def __init__(self, path: Path | None, *, log: logging.Logger) -> None:
        self._file = JsonFile(path, log=log)
        self._record = _parse_record(self._file.read(), log)

    @property
    def accuracy(self) -> Accuracy | None:
        """Accuracy so far; None before the first session that counts."""
        return self._record.accuracy

    def expect(self, session: str, starts_at: datetime, *, made_at: datetime) -> None:
        """Note a forecast; see `ForecastRecord.expect`."""
        self._record.expect(session, starts_at, made_at=made_at)
        self._save()

    def start(self, session: str, started_at: datetime) -> float | None:
        """Note that a session started.

        Returns:
            As `ForecastRecord.start`.
        """
        late_s = self._record.start(session, started_at)
        self._save()
        return late_s

    def forget(self, session: str) -> None:
        """Note that a session was cancelled before it started."""
        if self._record.forget(session):
            self._save()

    def close(self) -> None:
        """Wait until everything is written."""
        self._file.close()

    def _save(self) -> None:
        self._file.save(self._record.to_state())


def _parse_record(state: dict[str, Any], log: logging.Logger) -> ForecastRecord:
    try:
        return ForecastRecord.from_state(state) if state else ForecastRecord()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        log.warning("The record of forecasts is started again: %s", error)
        return ForecastRecord()
