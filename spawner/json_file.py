"""Small state of the hub in a JSON file: read once, written outside the event loop."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dsportal.whole_file import write_whole

# That of the hub, whose lines have a time.
_log = logging.getLogger("JupyterHub")


class JsonFile:
    """One JSON object in a file that only the hub writes.

    Args:
        path: None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        # One thread, so that writes keep their order.
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="json-file")

    def read(self) -> dict[str, Any]:
        """Return the JSON object; empty if there is no file or it cannot be read."""
        if self._path is None or not self._path.exists():
            return {}
        try:
            state = json.loads(self._path.read_text())
        except (OSError, ValueError) as error:
            _log.warning("%s cannot be read and is started again: %s", self._path, error)
            return {}
        return state if isinstance(state, dict) else {}

    def save(self, state: dict[str, Any]) -> None:
        """Write `state`, JSON values, soon; after a crash in between the file has the old one."""
        if self._path is not None:
            # Turned into text here: the caller may change the values while the thread waits.
            self._writer.submit(self._write, self._path, json.dumps(state))

    def close(self) -> None:
        """Wait until everything is written."""
        self._writer.shutdown()

    def _write(self, path: Path, text: str) -> None:
        try:
            write_whole(path, text.encode(), mode=0o600)
        except OSError as error:
            _log.warning("%s cannot be written: %s", path, error.strerror)
