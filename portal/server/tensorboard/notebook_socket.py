"""The unix socket on which cells of the user ask this notebook server for a TensorBoard.

Only the user can open it, so a cell needs no token.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket
from tornado.web import Application, RequestHandler

from portal.server.tensorboard.handlers import open_tensorboard
from portal.server.tensorboard.instances import TensorBoards

VARIABLE = "PORTAL_SERVER_SOCKET"
_MAX_BODY_BYTES = 64 * 1024


class NotebookSocket:
    """An HTTP server for the user's programs, which find it by an environment variable.

    Args:
        folder: A folder that only the user can enter.
        log: Gets a warning if the socket cannot be opened; the session continues without it.
    """

    def __init__(self, folder: Path, tensorboards: TensorBoards, log: logging.Logger) -> None:
        routes = [(r"/tensorboards", _TensorBoardsHandler, {"tensorboards": tensorboards})]
        self._server = HTTPServer(Application(routes), max_body_size=_MAX_BODY_BYTES)
        self._path = folder / "kernels"
        self._log = log

    def open(self) -> None:
        """Listen, and publish the path to kernels that start from now on."""
        try:
            self._server.add_socket(bind_unix_socket(str(self._path), mode=0o600))
        except OSError as error:
            self._log.warning("Cells cannot ask this server for TensorBoards: %s", error)
            return
        os.environ[VARIABLE] = str(self._path)

    def close(self) -> None:
        """Stop listening."""
        self._server.stop()


class _TensorBoardsHandler(RequestHandler):
    def initialize(self, tensorboards: TensorBoards) -> None:
        self.tensorboards = tensorboards

    # No login: only the user can open the socket.
    async def post(self) -> None:
        """Start one, as the REST interface does."""
        await open_tensorboard(self, self.tensorboards)
