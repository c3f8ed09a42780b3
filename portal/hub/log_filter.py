"""Tokens kept out of the hub's log, where an address is written down with its query."""

from __future__ import annotations

import logging
import re
from typing import Any

_SECRET = re.compile(r"(?<=[?&])(_xsrf|access_token|code|state|token)=[^&\s'\"]+")


class SecretFilter(logging.Filter):
    """Replaces the values of secret parameters of addresses in what is logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change a record that holds a secret.

        Args:
            record: What is logged.

        Returns:
            True: everything is logged.
        """
        message = record.getMessage()
        cleaned = _SECRET.sub(r"\1=[secret]", message)
        if cleaned != message:
            record.msg, record.args = cleaned, ()
        return True


# JupyterHub merges this into its own, whose handler is "console".
SECRET_LOGGING: dict[str, Any] = {
    "filters": {"secrets": {"()": "portal.hub.log_filter.SecretFilter"}},
    "handlers": {"console": {"filters": ["secrets"]}},
}
