"""Formats the hub's log as JSON: one object a line, with the user and job it concerns."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

FIELDS = ("user", "job_id")


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON.

    Keys: "time" (UTC), "level", "logger" and "message"; "user", "job_id" and "traceback" only if
    there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON without a line break."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: value for name in FIELDS if (value := getattr(record, name, None))}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        # A record's `extra` may hold values that JSON has no type for.
        return json.dumps(entry, default=str)


# JupyterHub merges this into its own, whose handler "console" uses the formatter "console".
JSON_LOGGING: dict[str, Any] = {
    "formatters": {"console": {"class": "portal.hub.log.json_formatter.JsonFormatter"}}
}
