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
    with open_answer(socket_path, method, path, body) as answer:
        text = answer.read()
    return answer.status, json.loads(text) if text else None


def open_answer(
    socket_path: str, method: str, path: str, body: object = None, timeout_s: float = _TIMEOUT_S
) -> http.client.HTTPResponse:
    """Return the answer to the JSON `body`, still to be read; raises as `ask`."""
    connection = _UnixConnection(socket_path, timeout_s)
    try:
        # So that the end of the answer closes the socket.
        headers = {"Connection": "close"}
        text = None if body is None else json.dumps(body)
        connection.request(method, path, body=text, headers=headers)
        return connection.getresponse()
    except BaseException:
        connection.close()
        raise


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, socket_path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._socket_path = socket_path

    def connect(self) -> None:
        """Connect to the socket instead of to a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._socket_path)
