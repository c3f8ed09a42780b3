"""Run a notebook in a session as its page does: run_notebook.py SESSION_URL CA PATH KERNEL.

It is run by the Python of the notebook server on a machine that reaches the portal, and knows the
session by its REST interface and the kernel's websocket alone. The token is read from standard
input. The last line that it prints is JSON: text, error and seconds.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
import urllib.request
import uuid
from typing import Any

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

START_TIMEOUT_S = 120
CELL_TIMEOUT_S = 1500


class Session:
    """A session of a user of the portal, at an address of http or https."""

    def __init__(self, url: str, ca: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._tls = ssl.create_default_context(cafile=ca) if ca else None
        self._headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Call its REST interface."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self._url}/{path}", data=data, headers=self._headers, method=method
        )
        with urllib.request.urlopen(request, context=self._tls, timeout=60) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    async def connect(self, kernel: str) -> WebSocketClientConnection:
        """Open the websocket of a kernel."""
        url = f"ws{self._url[4:]}/api/kernels/{kernel}/channels"
        timeouts = {"connect_timeout": START_TIMEOUT_S, "request_timeout": START_TIMEOUT_S}
        request = HTTPRequest(url, headers=self._headers, ssl_options=self._tls, **timeouts)
        return await websocket_connect(request)


async def run_notebook(session: Session, path: str, kernel_name: str) -> dict[str, Any]:
    """Run all cells of a notebook until its end or its first error."""
    cells = session.ask("GET", f"api/contents/{path}?content=1")["content"]["cells"]
    wanted = {"path": path, "name": path, "type": "notebook", "kernel": {"name": kernel_name}}
    opened = session.ask("POST", "api/sessions", wanted)
    before = time.monotonic()
    text, error = "", ""
    try:
        socket = await session.connect(opened["kernel"]["id"])
        for cell in cells:
            if cell["cell_type"] == "code" and not error:
                more, error = await run_cell(socket, "".join(cell["source"]))
                text += more
        socket.close()
    finally:
        session.ask("DELETE", f"api/sessions/{opened['id']}")
    return {"text": text, "error": error, "seconds": time.monotonic() - before}


async def run_cell(socket: WebSocketClientConnection, code: str) -> tuple[str, str]:
    """Run one cell; return what it printed, and its error or ""."""
    id_ = uuid.uuid4().hex
    header = {"msg_id": id_, "msg_type": "execute_request", "version": "5.3"}
    header |= {"username": "", "session": uuid.uuid4().hex, "date": ""}
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    await socket.write_message(json.dumps(message | {"channel": "shell", "buffers": []}))
    text, error = "", ""
    async with asyncio.timeout(CELL_TIMEOUT_S):
        while True:
            frame = await socket.read_message()
            if frame is None:
                return text, error or "the connection to the kernel was closed"
            # Pictures of widgets come as bytes.
            answer = json.loads(frame) if isinstance(frame, str) else {"parent_header": {}}
            if answer["parent_header"].get("msg_id") != id_:
                continue
            content = answer["content"]
            if answer["msg_type"] == "stream":
                text += content["text"]
            elif answer["msg_type"] == "error":
                error = f"{content['ename']}: {content['evalue']}"
            elif content.get("execution_state") == "idle":
                return text, error


def main() -> None:
    """Run it."""
    url, ca, path, kernel = sys.argv[1:]
    session = Session(url, ca, sys.stdin.read().strip())
    print(json.dumps(asyncio.run(run_notebook(session, path, kernel))))


if __name__ == "__main__":
    main()
