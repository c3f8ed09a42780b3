"""Kernels of a notebook server: which it offers, and a cell run in one."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any, Protocol

import requests
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.support.websockets import close_websocket


class Server(Protocol):
    """A notebook server of ada, and who asks there: `http` has the token."""

    @property
    def host(self) -> str: ...

    @property
    def http(self) -> requests.Session: ...


def offered(server: Server) -> dict[str, str]:
    """Return what the launcher shows, by the kernel's name."""
    specs = ask(server, "GET", "api/kernelspecs")["kernelspecs"]
    return {name: spec["spec"]["display_name"] for name, spec in specs.items()}


def ask(server: Server, method: str, path: str, **kwargs: Any) -> Any:
    """Call the REST interface of the server."""
    answer = server.http.request(method, f"{server.host}/user/ada/{path}", timeout=90, **kwargs)
    answer.raise_for_status()
    return answer.json() if answer.content else None


async def run_cell(server: Server, kernel_name: str, code: str) -> str:
    """Start a kernel, run one cell in it and return what it showed."""
    (shown,) = await run_cells(server, kernel_name, code)
    return shown


async def run_cells(server: Server, kernel_name: str, *cells: str, folder: str = "") -> list[str]:
    """Start a kernel, run cells in it one after another and return what each showed."""
    wanted = {"name": kernel_name, "path": f"{folder}/a.ipynb" if folder else ""}
    kernel = ask(server, "POST", "api/kernels", json=wanted)["id"]
    socket = await connect(server, kernel)
    shown = [await run_over(socket, code) for code in cells]
    await close_websocket(socket)
    ask(server, "DELETE", f"api/kernels/{kernel}")
    return shown


async def run_in_notebook(server: Server, kernel_name: str, path: str, code: str) -> str:
    """Start the kernel of a notebook, run one cell in it and return what it showed."""
    wanted = {"path": path, "name": path, "type": "notebook", "kernel": {"name": kernel_name}}
    made = ask(server, "POST", "api/sessions", json=wanted)
    socket = await connect(server, made["kernel"]["id"])
    shown = await run_over(socket, code)
    await close_websocket(socket)
    ask(server, "DELETE", f"api/sessions/{made['id']}")
    return shown


async def run_until(server: Server, kernel_name: str, code: str, text: str) -> None:
    """Start a kernel, run a cell and wait until a text is shown, be it after the cell's end."""
    kernel = ask(server, "POST", "api/kernels", json={"name": kernel_name})["id"]
    await leave_after(server, kernel, code, text)
    ask(server, "DELETE", f"api/kernels/{kernel}")


async def leave_after(
    server: Server, kernel: str, code: str, text: str, *, cell_id: str = ""
) -> None:
    """Run a cell of a notebook in a kernel, and leave as a page does once a text is shown."""
    socket = await connect(server, kernel)
    await _send(socket, code, {"cellId": cell_id} if cell_id else {})
    shown = ""
    async with asyncio.timeout(60):
        while text not in shown:
            answer = json.loads(await socket.read_message() or "{}")
            if answer["msg_type"] == "stream":
                shown += answer["content"]["text"]
    await close_websocket(socket)


async def connect(server: Server, kernel: str) -> WebSocketClientConnection:
    """Connect to a kernel as a page does."""
    channels = f"ws{server.host[4:]}/user/ada/api/kernels/{kernel}/channels"
    headers = {"Authorization": server.http.headers["Authorization"]}
    return await websocket_connect(HTTPRequest(channels, headers=headers, connect_timeout=60))


async def _send(
    socket: WebSocketClientConnection, code: str, metadata: dict[str, str] | None = None
) -> str:
    sent = uuid.uuid4().hex
    header = {"msg_id": sent, "msg_type": "execute_request", "session": sent, "version": "5.3"}
    content = {"code": code, "silent": False, "allow_stdin": False}
    message = {
        "header": header,
        "parent_header": {},
        "metadata": metadata or {},
        "content": content,
    }
    await socket.write_message(json.dumps({"channel": "shell", **message}))
    return sent


async def run_over(socket: WebSocketClientConnection, code: str) -> str:
    """Run one cell in the kernel at the other end and return what it showed."""
    shown = ""
    async for answer in published(socket, code):
        if answer["msg_type"] == "error":
            shown += answer["content"]["evalue"]
        if answer["msg_type"] == "stream":
            shown += answer["content"]["text"]
        if answer["msg_type"] == "execute_result":
            shown += answer["content"]["data"]["text/plain"]
    return shown


async def published_by(server: Server, kernel_name: str, code: str) -> list[dict[str, Any]]:
    """Start a kernel, run one cell in it and return all that a page was sent about it."""
    kernel = ask(server, "POST", "api/kernels", json={"name": kernel_name})["id"]
    socket = await connect(server, kernel)
    sent = [message async for message in published(socket, code)]
    await close_websocket(socket)
    ask(server, "DELETE", f"api/kernels/{kernel}")
    return sent


async def published(socket: WebSocketClientConnection, code: str) -> AsyncIterator[dict[str, Any]]:
    sent = await _send(socket, code)
    while (text := await socket.read_message()) is not None:
        answer = json.loads(text)
        if answer["parent_header"].get("msg_id") != sent:
            continue
        yield answer
        # The last of what a cell sends to everybody; the reply may overtake what it printed.
        if answer["content"].get("execution_state") == "idle":
            break
