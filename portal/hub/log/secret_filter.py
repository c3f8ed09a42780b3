"""Removes tokens and control characters from the hub's log before it is written."""

import logging
import re
from typing import Any

_SECRET = re.compile(r"(?<=[?&])(_xsrf|access_token|code|state|token)=[^&\s'\"]+")


# All but tab and newline; the log's formatter indents what follows a newline.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class SecretFilter(logging.Filter):
    """Masks secret query parameters and escapes control characters in log messages."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite a record if it holds a secret or a control character.

        Returns:
            Always True: no record is dropped.
        """
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            # JupyterHub's own fault, such as %i of None: Python would print the arguments, secrets
            # included, and an error that leaves a filter ends whatever wrote the message.
            message = f"{record.msg} {record.args}"
            record.msg, record.args = message, ()
        cleaned = _SECRET.sub(r"\1=[secret]", message)
        cleaned = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", cleaned)
        # Without args: a percent sign in the cleaned text is no placeholder any more.
        if cleaned != message:
            record.msg, record.args = cleaned, ()
        return True


# JupyterHub merges this into its own, whose handler is "console".
SECRET_LOGGING: dict[str, Any] = {
    "filters": {"secrets": {"()": "portal.hub.log.secret_filter.SecretFilter"}},
    "handlers": {"console": {"filters": ["secrets"]}},
}
