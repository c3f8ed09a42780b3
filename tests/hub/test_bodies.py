"""Long requests: the hub refuses them while they are sent, and keeps nothing of them."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import requests

from tests.hub.private_hub import PrivateHub

MIB = 1024 * 1024
# What three bodies of 90 MiB may leave behind; kept, they were over 400.
MOST_GROWTH_MIB = 16


def resident_mib(pid: int) -> float:
    """Return the most memory that a process has held, MiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def stream(n_mib: int) -> Iterator[bytes]:
    """Yield a body in pieces, so that it is sent without its length."""
    for _ in range(n_mib):
        yield b"x" * MIB


def post_90_mib(url: str) -> int:
    """Send a long body; return the status, 0 where the hub hung up before all was sent."""
    try:
        return requests.post(url, data=stream(90), timeout=60).status_code
    except requests.ConnectionError:
        return 0


def answer_to_head(url: str, *lines: str) -> str:
    """Send only the head of a request; return the first part of the answer."""
    host = urlsplit(url)
    head = f"POST {host.path} HTTP/1.1\r\nHost: {host.netloc}\r\n"
    with socket.create_connection((host.hostname, host.port), timeout=20) as sock:
        sock.sendall((head + "".join(f"{line}\r\n" for line in lines) + "\r\n").encode())
        return sock.recv(65536).decode()


def test_who_asks_for_leave_to_send_a_long_body_is_not_given_it(private_hub: PrivateHub) -> None:
    answer = answer_to_head(
        f"{private_hub.direct_url}/hub/login",
        f"Content-Length: {90 * MIB}",
        "Expect: 100-continue",
    )

    assert answer.startswith("HTTP/1.1 413 ")
    assert "100 (Continue)" not in answer


def test_three_long_bodies_leave_the_hubs_memory_as_it_was(private_hub: PrivateHub) -> None:
    requests.get(f"{private_hub.direct_url}/hub/login", timeout=30)
    before_mib = resident_mib(private_hub.pid)

    with ThreadPoolExecutor(3) as senders:
        statuses = list(senders.map(post_90_mib, [f"{private_hub.direct_url}/hub/login"] * 3))

    assert set(statuses) <= {0, 413}
    assert resident_mib(private_hub.pid) - before_mib < MOST_GROWTH_MIB
    assert requests.get(f"{private_hub.direct_url}/hub/health", timeout=30).ok
