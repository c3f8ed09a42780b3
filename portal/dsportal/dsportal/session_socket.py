"""Requests to the session's notebook server on the socket that only its user can open."""

import http.client
import json
import socket
from typing import Any

VARIABLE = "PORTAL_SERVER_SOCKET"
_TIMEOUT_S = 60


def ask(socket_path: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
    """Return status and JSON of the answer to the JSON `body`; None for an empty one.

    Raises:
        OSError: If the server does not answer.
        http.client.HTTPException: If what answers speaks no HTTP.
        ValueError: If the answer is no JSON.
    """
    connection = _UnixConnection(socket_path)
    try:
        connection.request(method, path, body=None if body is None else json.dumps(body))
        response = connection.getresponse()
        text = response.read()
    finally:
        connection.close()
    return response.status, json.loads(text) if text else None


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, socket_path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._socket_path = socket_path

    def connect(self) -> None:
        """Connect to the socket instead of to a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._socket_path)
