"""Somebody without an account, who reaches the portal's proxy and the hub."""

import socket
from urllib.parse import urlsplit

import pytest
import requests

from tests.security.conftest import VICTIM, LoggedIn, ask
from tests.support.portal_client import ADDRESS

pytestmark = pytest.mark.cluster

PROXY_API = "http://127.0.0.1:8001/api/routes"
N_TRIES = 3


def send_hidden(method: str, path: str, text: bytes) -> None:
    """Send a chunked request through the proxy, whose body is the beginning of another one."""
    proxy = urlsplit(ADDRESS)
    head = f"{method} {path} HTTP/1.1\r\nHost: {proxy.netloc}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection((proxy.hostname, proxy.port), timeout=30) as sock:
        sock.sendall(head.encode() + f"{len(text):x}\r\n".encode() + text + b"\r\n0\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize("method", ["DELETE", "OPTIONS"])
def test_nothing_is_put_before_the_requests_of_a_user_in_her_session(
    victim: LoggedIn, method: str
) -> None:
    path = f"/user/{VICTIM}/api/status"
    for _ in range(N_TRIES):
        send_hidden(method, path, f"GET /user/{VICTIM}/api/taken HTTP/1.1\r\nX-Rest: ".encode())

        answer = victim.ask("GET", path)

        assert answer.status_code == 200
        assert "kernels" in answer.json()


@pytest.mark.parametrize("method", ["DELETE", "OPTIONS"])
def test_nothing_is_put_before_the_requests_of_a_user_at_the_hub(
    victim: LoggedIn, method: str
) -> None:
    for _ in range(N_TRIES):
        send_hidden(method, "/hub/api/users", b"GET /hub/api/taken HTTP/1.1\r\nX-Rest: ")

        assert victim.ask("GET", "/hub/api/user").json()["name"] == VICTIM


@pytest.mark.parametrize("headers", [{}, {"Authorization": "token 0123456789abcdef"}])
def test_the_proxys_own_interface_refuses(headers: dict[str, str]) -> None:
    # It refuses a body that is no JSON before it looks at who sends it.
    for method, status in {"GET": 403, "POST": 400, "DELETE": 403}.items():
        answer = requests.request(method, PROXY_API, headers=headers, timeout=30)

        assert answer.status_code == status


def test_the_login_says_nothing_of_who_has_a_session(victim: LoggedIn) -> None:
    del victim  # who has one

    page = ask("GET", "/hub/login")

    assert page.status_code == 200
    assert VICTIM not in page.text
