import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dsportal.start import connection_user
from dsportal.start.connection_user import is_own_users, user_of

V4, V6 = socket.AF_INET, socket.AF_INET6


@contextmanager
def connection(
    ip: str, client_family: socket.AddressFamily = V4, server_family: socket.AddressFamily = V4
) -> Iterator[tuple[socket.socket, Any, Any]]:
    """Yield the connecting end, and where a connection comes from and leads to."""
    with socket.socket(server_family) as listener, socket.socket(client_family) as client:
        if server_family == V6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("::" if server_family == V6 else "127.0.0.1", 0))
        listener.listen()
        client.connect((ip, listener.getsockname()[1]))
        accepted, there = listener.accept()
        with accepted:
            yield client, there, accepted.getsockname()


@pytest.mark.parametrize(
    ("ip", "client_family", "server_family"),
    [
        ("127.0.0.1", V4, V4),
        ("::ffff:127.0.0.1", V6, V4),
        ("127.0.0.1", V4, V6),
        ("::ffff:127.0.0.1", V6, V6),
        ("::1", V6, V6),
    ],
)
def test_a_program_is_its_users_whichever_family_its_socket_has(
    ip: str, client_family: socket.AddressFamily, server_family: socket.AddressFamily
) -> None:
    with connection(ip, client_family, server_family) as (client, there, here):
        assert user_of(there, here) == os.getuid()
        assert is_own_users(there, here)

        client.close()

        assert user_of(there, here) is None
        assert not is_own_users(there, here)


def test_the_table_of_all_connections_is_read_only_where_the_kernel_finds_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_user, "read_tcp_table", lambda: pytest.fail("read the table"))
    with connection("127.0.0.1") as (_, there, here):
        assert user_of(there, here) == os.getuid()


def test_a_kernel_that_has_only_the_table_tells_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_user, "NETLINK_SOCK_DIAG", 255)
    with connection("127.0.0.1") as (_, there, here):
        assert user_of(there, here) == os.getuid()


@pytest.mark.parametrize("ip", ["192.0.2.1", "2001:db8::1", "fe80::1%eth0"])
def test_nobody_on_this_node_is_at_an_address_of_another(ip: str) -> None:
    with connection("127.0.0.1") as (_, there, here):
        assert user_of((ip, there[1]), here) is None


@pytest.mark.parametrize(
    ("knows_all", "uid"), [(True, os.getuid()), (False, None)], ids=["all", "some"]
)
def test_nobody_is_an_account_only_in_a_namespace_that_knows_all_users(
    knows_all: bool, uid: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_user, "UNKNOWN_UID", os.getuid())
    known = Path("/proc/self/uid_map").read_text().split() if knows_all else []
    monkeypatch.setattr(connection_user, "MAP_OF_ALL_USERS", known)
    with connection("127.0.0.1") as (_, there, here):
        assert user_of(there, here) == uid
