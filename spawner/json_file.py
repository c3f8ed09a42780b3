"""Small state of the hub in a file: read once, written outside the event loop."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


class JsonFile:
    """One JSON object in a file that only the hub writes.

    Args:
        path: The file; None keeps nothing.
        log: Where it is told that the file cannot be read or written; the hub goes on without.
    """

    def __init__(self, path: Path | None, *, log: logging.Logger) -> None:
        self._path = path
        self._log = log
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="json-file")

    def read(self) -> dict[str, Any]:
        """Return the object; empty where there is none or it cannot be read."""
        if self._path is None or not self._path.exists():
            return {}
        try:
            state = json.loads(self._path.read_text())
        except (OSError, ValueError) as error:
            self._log.warning("%s cannot be read and begins anew: %s", self._path, error)
            return {}
        return state if isinstance(state, dict) else {}

    def save(self, state: dict[str, Any]) -> None:
        """Write the object soon; a crash in between leaves the former one.

        Args:
            state: JSON values.
        """
        if self._path is not None:
            self._writer.submit(self._write, self._path, json.dumps(state))

    def close(self) -> None:
        """Wait until everything is written."""
        self._writer.shutdown()

    def _write(self, path: Path, text: str) -> None:
        new_path = path.with_name(f".{path.name}.new")
        try:
            new_path.write_text(text)
            new_path.replace(path)
        except OSError as error:
            self._log.warning("%s cannot be written: %s", path, error.strerror)
