"""A request hidden in the body of another: the proxy must not hand it the next user's cookies."""

import socket
from urllib.parse import urlsplit

import pytest

from tests.hub.private_hub import Browser, PrivateHub

N_TRIES = 5


def send_hidden(hub: PrivateHub, method: str, text: bytes) -> None:
    """Send a request with a chunked body through the proxy, and read its answer."""
    host = urlsplit(hub.url)
    head = f"{method} /hub/api/users HTTP/1.1\r\nHost: {host.netloc}\r\n"
    with socket.create_connection((host.hostname, host.port), timeout=20) as sock:
        sock.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n{len(text):x}\r\n".encode())
        sock.sendall(text + b"\r\n0\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize("method", ["DELETE", "OPTIONS"])
def test_nobodys_request_is_put_before_that_of_another_user(hub: PrivateHub, method: str) -> None:
    victim = Browser(hub)
    for _ in range(N_TRIES):
        send_hidden(hub, method, b"GET /hub/api/taken HTTP/1.1\r\nX-Rest: ")

        assert victim.get("/hub/login").status_code == 200

    assert "/hub/api/taken" not in hub.log_path.read_text()


def test_a_hidden_request_cannot_come_from_another_address(hub: PrivateHub) -> None:
    send_hidden(
        hub,
        "DELETE",
        b"GET /hub/api/forged HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.66\r\n\r\n",
    )

    assert Browser(hub).get("/hub/health").ok
    assert "192.0.2.66" not in hub.log_path.read_text()
