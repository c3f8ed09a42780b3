"""Cells in kernels of a session, by the WebSocket of Jupyter Server."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from contextlib import suppress
from typing import Any

from dsportal.tool import Excerpt

from .. import work
from ..host import LaptopError
from ..sessions import Session

_LOOK_S = 1.0
# An interrupt is answered by the kernel's last words.
_END_S = 10.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Cells:
    """Runs code in the kernel of a notebook, or in one of its own for each session."""

    def __init__(self) -> None:
        self._own: dict[str, tuple[Session, str]] = {}

    def run(
        self,
        session: Session,
        code: str,
        notebook: str,
        timeout_s: float,
        cancelled: threading.Event,
    ) -> str:
        """Run code and return what it shows; it is interrupted when its time is over."""
        # Not for who only asks: the wheel may be without it.
        from websocket import WebSocketException, WebSocketTimeoutException

        from ..web_socket import connect, end

        kernel = self._kernel(session, notebook)
        way = connect(
            session.portal.host,
            f"{session.path}/api/kernels/{kernel}/channels",
            session.portal.token,
        )
        way.settimeout(_LOOK_S)
        shown = Excerpt()
        give_up_s = time.monotonic() + timeout_s
        is_interrupted = False
        try:
            asked = _send(way, code)
            while True:
                if time.monotonic() > give_up_s or cancelled.is_set():
                    if is_interrupted:
                        return f"{shown}\n[still running: the kernel does not answer]"
                    session.ask("POST", f"api/kernels/{kernel}/interrupt")
                    is_interrupted, give_up_s = True, time.monotonic() + _END_S
                    shown.add(f"\n[interrupted after {timeout_s:g} s]\n")
                try:
                    text = way.recv()
                except WebSocketTimeoutException:
                    continue
                # Bytes are data of widgets.
                if isinstance(text, str) and text and _take(json.loads(text), asked, shown):
                    return str(shown) or "It has shown nothing."
                if text == "":
                    raise LaptopError("The session closed the connection to the kernel.")
        except (OSError, WebSocketException) as error:
            raise LaptopError(f"The connection to the kernel broke off: {error}") from error
        finally:
            end(way)

    def close(self) -> None:
        """End the kernels that were started for this."""
        for session, kernel in self._own.values():
            with suppress(LaptopError):
                session.ask("DELETE", f"api/kernels/{kernel}")

    def _kernel(self, session: Session, notebook: str) -> str:
        if notebook:
            return work.kernel_of(session, notebook)
        known = {one["id"] for one in session.ask("GET", "api/kernels")}
        if session.name not in self._own or self._own[session.name][1] not in known:
            started = session.ask("POST", "api/kernels", {"name": "python3"})
            self._own[session.name] = (session, started["id"])
        return self._own[session.name][1]


def _send(way: Any, code: str) -> str:
    """Send a cell and return its number."""
    number = uuid.uuid4().hex
    header = {"msg_id": number, "msg_type": "execute_request", "version": "5.3"}
    header |= {"username": "", "session": number, "date": ""}
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    way.send(json.dumps({**message, "channel": "shell", "buffers": []}))
    return number


def _take(message: dict[str, Any], asked: str, shown: Excerpt) -> bool:
    """Add what a message shows, and return whether it is the last of the cell."""
    if message["parent_header"].get("msg_id") != asked:
        return False
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        shown.add(content["text"])
    elif kind in {"display_data", "execute_result"}:
        shown.add(content["data"].get("text/plain", "") + "\n")
    elif kind == "error":
        shown.add(_COLOURS.sub("", "\n".join(content["traceback"])) + "\n")
    return bool(content.get("execution_state") == "idle")
