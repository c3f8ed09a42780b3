"""Formats the hub's log as JSON: one object a line, with the user and job it concerns."""

from typing import Any

from pythonjsonlogger.json import JsonFormatter

FIELDS = {"levelname": "level", "name": "logger", "message": "message", "exc_info": "traceback"}


class HubJsonFormatter(JsonFormatter):
    """Formats a record as one line of JSON.

    Keys: "time" (UTC), "level", "logger" and "message"; "user", "job_id" and "traceback" only if
    there is one.
    """

    def __init__(self, *_text_format: object) -> None:
        # JupyterHub's configuration of the log passes its format and date format for lines of text.
        super().__init__(["levelname", "name", "message"], timestamp="time", rename_fields=FIELDS)


# JupyterHub merges this into its own, whose handler "console" uses the formatter "console".
JSON_LOGGING: dict[str, Any] = {
    "formatters": {"console": {"class": f"{__name__}.{HubJsonFormatter.__name__}"}}
}
