"""A kernel that another program than the notebook server starts, on ports, as VS Code does."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jupyter_client import BlockingKernelClient, KernelManager

TIMEOUT_S = 60
PORTS = """
import psutil
open_ports = [one for one in psutil.Process().net_connections("tcp") if one.status == "LISTEN"]
print(len(open_ports), "ports")
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket on which the notebook server listens."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "session"))
        listener.listen()
        listener.settimeout(TIMEOUT_S)
        yield listener


@pytest.fixture
def kernel(session: socket.socket, tmp_path: Path) -> Iterator[KernelManager]:
    text = (files("portal.environments") / "kernel_start.py").read_text("utf-8")
    kernel = KernelManager(connection_file=str(tmp_path / "kernel.json"))
    assert kernel.kernel_spec is not None
    kernel.kernel_spec.argv = [sys.executable, "-c", text, "-f", "{connection_file}"]
    kernel.start_kernel(env={**os.environ, "PORTAL_SERVER_SOCKET": session.getsockname()})
    yield kernel
    kernel.shutdown_kernel(now=True)


@pytest.fixture
def client(kernel: KernelManager) -> Iterator[BlockingKernelClient]:
    client = kernel.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=TIMEOUT_S)
    yield client
    client.stop_channels()


def printed(client: BlockingKernelClient, code: str) -> str:
    texts: list[str] = []

    def take(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            texts.append(message["content"]["text"])

    client.execute_interactive(code, output_hook=take, timeout=TIMEOUT_S)
    return "".join(texts)


def test_a_cell_keeps_the_session_while_it_runs(
    session: socket.socket, client: BlockingKernelClient
) -> None:
    client.execute("input()", allow_stdin=True)
    asked = client.get_stdin_msg(timeout=TIMEOUT_S)
    # Those of the start have ended.
    session.settimeout(0)
    cells = []
    while True:
        try:
            cells.append(session.accept()[0])
        except BlockingIOError:
            break
    cell = cells[-1]
    cell.settimeout(TIMEOUT_S)
    assert cell.recv(1024).startswith(b"GET /session/cell ")
    cell.setblocking(False)
    with pytest.raises(BlockingIOError):
        cell.recv(1024)

    assert asked["msg_type"] == "input_request"
    client.input("")
    cell.settimeout(TIMEOUT_S)

    assert cell.recv(1024) == b""
    for one in cells:
        one.close()


def test_there_is_no_port_for_the_output_of_forked_children(client: BlockingKernelClient) -> None:
    text = printed(client, PORTS)

    # The five of the connection file.
    assert text == "5 ports\n"
