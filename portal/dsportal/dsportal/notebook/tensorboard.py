"""`tensorboard`: the session's notebook server starts a TensorBoard, the cell shows its link."""

import html
import http.client
import os
import sys
from collections.abc import Sequence
from typing import Any

from dsportal.errors import TensorBoardError
from dsportal.session_socket import VARIABLE, ask

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
    board = ask_server(os.environ.get(VARIABLE, ""), names)
    text = f"TensorBoard of {', '.join(board['logdirs'])}"
    if board["note"]:
        print(board["note"])
    _show(text, board["url"])


def ask_server(socket_path: str, folders: Sequence[str]) -> dict[str, Any]:
    """Ask the session's notebook server for a TensorBoard.

    Args:
        socket_path: Its unix socket, which only the user can open; "" if there is none.

    Returns:
        What the REST interface says about the TensorBoard: `logdirs`, `url`, `note`.
    """
    if not socket_path:
        raise TensorBoardError(_NO_SERVER)
    try:
        status, answer = ask(socket_path, "POST", "/tensorboards", {"logdirs": list(folders)})
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise TensorBoardError(
            f"The notebook server of this session gave no answer ({error}). "
            "If the session was restarted, restart the kernel too."
        ) from error
    if status != http.client.CREATED:
        raise TensorBoardError(str(answer["message"]))
    told: dict[str, Any] = answer
    return told


def _show(text: str, url: str) -> None:
    # Only a kernel has a page to show a link on.
    if "ipykernel" in sys.modules:
        from IPython.display import HTML, display

        link = f'<a href="{html.escape(url)}" target="_blank">{html.escape(text)}</a>'
        display(HTML(link))
    else:
        print(f"{text}: {url}")
