"""`tensorboard`: the session's notebook server starts a TensorBoard, the cell shows its link."""

from __future__ import annotations

import html
import http.client
import json
import os
import socket
import sys
from collections.abc import Sequence
from typing import Any

from dsportal.errors import TensorBoardError

SOCKET_VARIABLE = "PORTAL_SERVER_SOCKET"
_TIMEOUT_S = 60
_NO_SERVER = (
    "You asked for a TensorBoard, but this Python was not started by a session's notebook server. "
    "Run it in a notebook or a terminal of the portal, or select the folder in the file browser "
    "and press the TensorBoard button."
)


def tensorboard(*folders: str | os.PathLike[str]) -> None:
    """Start a TensorBoard on folders and show the link to it.

    In a notebook the link can be clicked; elsewhere its path is printed. Folders that already have
    a TensorBoard keep it.

    Args:
        folders: One or more folders with logs, relative to the working directory; several are
            compared in one TensorBoard. They must exist.

    Raises:
        TensorBoardError: If the server does not answer, or refuses; the text says why.
    """
    if not folders:
        raise TensorBoardError(
            'You asked for a TensorBoard of no folder. Write tensorboard("logs").'
        )
    # The server has a working directory of its own.
    names = [os.path.abspath(folder) for folder in folders]
    board = ask_server(os.environ.get(SOCKET_VARIABLE, ""), names)
    text = f"TensorBoard of {', '.join(board['logdirs'])}"
    if board["note"]:
        print(board["note"])
    _show(text, board["url"])


def ask_server(socket_path: str, folders: Sequence[str]) -> dict[str, Any]:
    """Ask the session's notebook server for a TensorBoard.

    Args:
        socket_path: Its unix socket, which only the user can open; "" if there is none.
        folders: Absolute paths.

    Returns:
        What the REST interface says about the TensorBoard: `logdirs`, `url`, `note`.
    """
    if not socket_path:
        raise TensorBoardError(_NO_SERVER)
    connection = _UnixConnection(socket_path)
    try:
        connection.request("POST", "/tensorboards", body=json.dumps({"logdirs": list(folders)}))
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise TensorBoardError(
            f"The notebook server of this session gave no answer ({error}). "
            "If the session was restarted, restart the kernel too."
        ) from error
    finally:
        connection.close()
    if response.status != http.client.CREATED:
        raise TensorBoardError(str(answer["message"]))
    return answer


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, socket_path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._socket_path = socket_path

    def connect(self) -> None:
        """Connect to the socket instead of to a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._socket_path)


def _show(text: str, url: str) -> None:
    # Only a kernel has a page to show a link on.
    if "ipykernel" in sys.modules:
        from IPython.display import HTML, display

        link = f'<a href="{html.escape(url)}" target="_blank">{html.escape(text)}</a>'
        display(HTML(link))
    else:
        print(f"{text}: {url}")
