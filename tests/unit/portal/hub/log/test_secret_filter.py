"""Tokens that libraries write into the hub's log with the address that holds them."""

import json
import logging
import logging.config
from pathlib import Path

import pytest

from portal.hub.log.json_formatter import JSON_LOGGING
from portal.hub.log.secret_filter import SECRET_LOGGING


@pytest.mark.parametrize("form", [{}, JSON_LOGGING], ids=["text", "json"])
def test_the_log_says_what_happened_without_the_token_of_the_address(
    form: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "hub.log"
    handler = {"class": "logging.FileHandler", "filename": str(path), "formatter": "console"}
    config = SECRET_LOGGING | {"formatters": {"console": {"format": "%(message)s"}}} | form
    config |= {
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {"console": handler | SECRET_LOGGING["handlers"]["console"]},
        "loggers": {"hub of a test": {"handlers": ["console"], "propagate": False}},
    }
    logging.config.dictConfig(config)
    log = logging.getLogger("hub of a test")

    log.warning("Stream closed while handling %s", "/hub/api/progress?_xsrf=MnwxOjB8&a=1")
    log.warning("Job 7 ended with exit code=%d", 3)
    log.warning("No user %s\tis\nknown", "\x1b[31m\x00\r\x9bada")
    log.warning("Started in %i s, %s", None, "/hub/?token=abc")
    log.handlers[0].close()

    lines = path.read_text().splitlines()
    said = "\n".join(json.loads(line)["message"] if form else line for line in lines)
    assert said.split("\n") == [
        "Stream closed while handling /hub/api/progress?_xsrf=[secret]&a=1",
        "Job 7 ended with exit code=3",
        r"No user \x1b[31m\x00\x0d\x9bada" + "\tis",
        "known",
        "Started in %i s, %s (None, '/hub/?token=[secret]')",
    ]
