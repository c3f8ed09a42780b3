"""The unix socket on which the user's programs ask this notebook server: cells, VS Code.

Only the user can open it, so a program needs no token.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.log import access_log
from tornado.netutil import bind_unix_socket
from tornado.web import Application, RequestHandler

VARIABLE = "PORTAL_SERVER_SOCKET"
_MAX_BODY_BYTES = 64 * 1024
_FIRST_ERROR = 400


class LocalSocket:
    """An HTTP server for the user's programs, which find it by an environment variable.

    Args:
        folder: A folder that only the user can enter.
        routes: Pattern, handler and its arguments of each, as Tornado wants them.
        log: Gets a warning if the socket cannot be opened; the session continues without it.
    """

    def __init__(
        self, folder: Path, routes: Sequence[tuple[Any, ...]], log: logging.Logger
    ) -> None:
        application = Application(list(routes), log_function=_log_refused)
        self._server = HTTPServer(application, max_body_size=_MAX_BODY_BYTES)
        self._path = folder / "kernels"
        self._log = log

    def open(self) -> None:
        """Listen, and publish the path to kernels that start from now on."""
        try:
            self._server.add_socket(bind_unix_socket(str(self._path), mode=0o600))
        except OSError as error:
            self._log.warning("The user's programs cannot ask this server: %s", error)
            return
        os.environ[VARIABLE] = str(self._path)

    def close(self) -> None:
        """Stop listening."""
        self._server.stop()


def _log_refused(handler: RequestHandler) -> None:
    # VS Code asks every few seconds.
    if handler.get_status() >= _FIRST_ERROR:
        access_log.warning("%d %s", handler.get_status(), handler.request.path)
