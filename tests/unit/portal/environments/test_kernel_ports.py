from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from portal.environments import kernel_ports
from portal.environments.kernel_ports import listen, user_of


@pytest.mark.parametrize(
    ("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")]
)
def test_a_program_is_its_users_whichever_family_its_socket_has(
    family: socket.AddressFamily, address: str
) -> None:
    with listen("127.0.0.1", 0) as listener, socket.socket(family) as client:
        listener.setblocking(True)
        client.connect((address, listener.getsockname()[1]))
        accepted, there = listener.accept()
        with accepted:
            assert user_of(there, accepted.getsockname()) == os.getuid()

            client.close()

            assert user_of(there, accepted.getsockname()) is None


@pytest.mark.parametrize(
    ("knows_all", "uid"), [(True, os.getuid()), (False, None)], ids=["all", "some"]
)
def test_nobody_is_an_account_only_in_a_namespace_that_knows_all_users(
    knows_all: bool, uid: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_ports, "UNKNOWN_UID", os.getuid())
    known = Path("/proc/self/uid_map").read_text().split() if knows_all else []
    monkeypatch.setattr(kernel_ports, "MAP_OF_ALL_USERS", known)
    with listen("127.0.0.1", 0) as listener, socket.socket() as client:
        listener.setblocking(True)
        client.connect(listener.getsockname())
        accepted, there = listener.accept()
        with accepted:
            assert user_of(there, accepted.getsockname()) == uid


def test_a_port_in_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_ports, "PORT_TIMEOUT_S", 0)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]

        with pytest.raises(SystemExit, match=f"Port {port} of 127.0.0.1 is in use. Start the"):
            listen("127.0.0.1", port)
