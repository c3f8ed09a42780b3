"""An answer through the portal's proxy whose server is gone before its end."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest
import requests

from deploy.one_machine.layout import PREFIX_DIR
from portal.site.commands.services import NODE, PROXY_DIR, SCRIPT
from tests.support.eventually import eventually
from tests.support.private_hub import free_ports

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-tar\r\n"
PIECE = b"x" * 1000


class Server:
    """Sends an answer and closes the connection."""

    def __init__(self) -> None:
        self.answer = b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(self.answer)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def url(server: Server) -> Iterator[str]:
    """Address of a proxy that leads to the server."""
    port, api_port = free_ports(2)
    process = subprocess.Popen(
        [
            *(PREFIX_DIR / NODE, SCRIPT),
            f"--configurable-http-proxy={PREFIX_DIR / PROXY_DIR}",
            *("--ip=127.0.0.1", f"--port={port}", "--api-ip=127.0.0.1", f"--api-port={api_port}"),
            f"--default-target={server.url}",
        ],
        env={**os.environ, "CONFIGPROXY_AUTH_TOKEN": "of-this-test"},
    )
    try:
        url = f"http://127.0.0.1:{port}"
        # The server has no answer yet, so this is the proxy's own.
        eventually(lambda: requests.get(url, timeout=5).status_code == 503, timeout_s=60)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def framed(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + framed(PIECE) + framed(b""),
        HEAD + b"Content-Length: 1000\r\n\r\n" + PIECE,
        HEAD + b"Connection: close\r\n\r\n" + PIECE,
    ],
)
def test_a_whole_answer_arrives(server: Server, url: str, answer: bytes) -> None:
    server.answer = answer

    assert requests.get(url, timeout=20).content == PIECE


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + framed(PIECE),
        HEAD + b"Content-Length: 3000\r\n\r\n" + PIECE,
    ],
)
def test_an_answer_whose_server_is_gone_neither_hangs_nor_looks_complete(
    server: Server, url: str, answer: bytes
) -> None:
    server.answer = answer

    # A time-out would be a requests.ConnectionError.
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        requests.get(url, timeout=20)
