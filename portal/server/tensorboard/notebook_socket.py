"""The socket through which the user's own programs on the node ask this notebook server.

It is a unix socket that only the user can open, so that a cell needs no token.
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


class KernelSocket:
    """Listens for programs of the user, which find it by an environment variable.

    Args:
        folder: A folder that only the user can enter.
        tensorboards: Those of the session.
        log: Where sentences go; a session without this socket goes on.
    """

    def __init__(self, folder: Path, tensorboards: TensorBoards, log: logging.Logger) -> None:
        routes = [(r"/tensorboards", _TensorBoardsHandler, {"tensorboards": tensorboards})]
        self._server = HTTPServer(Application(routes), max_body_size=_MAX_BODY_BYTES)
        self._path = folder / "kernels"
        self._log = log

    def open(self) -> None:
        """Listen, and let the kernels that start from now on know where."""
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

    async def post(self) -> None:
        """Start one, as the REST interface does."""
        await open_tensorboard(self, self.tensorboards)
