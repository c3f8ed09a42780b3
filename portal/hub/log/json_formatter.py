"""The hub's log as JSON: an object on each line, with user and job where one is meant."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

FIELDS = ("user", "job_id")


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON.

    The keys are "time" (UTC), "level", "logger", "message", and "user", "job_id" and "traceback"
    where there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line.

        Args:
            record: What was logged.

        Returns:
            JSON without a line break.
        """
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: value for name in FIELDS if (value := getattr(record, name, None))}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


# JupyterHub merges this into its own, whose handler "console" uses the formatter "console".
JSON_LOGGING: dict[str, Any] = {
    "formatters": {"console": {"class": "portal.hub.log.json_formatter.JsonFormatter"}}
}
