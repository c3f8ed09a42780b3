from __future__ import annotations

import os
import socket

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


def test_a_user_whom_the_namespace_does_not_know_is_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_ports, "UNKNOWN_UID", os.getuid())
    with listen("127.0.0.1", 0) as listener, socket.socket() as client:
        listener.setblocking(True)
        client.connect(listener.getsockname())
        accepted, there = listener.accept()
        with accepted:
            assert user_of(there, accepted.getsockname()) is None


def test_a_port_in_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_ports, "PORT_TIMEOUT_S", 0)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]

        with pytest.raises(SystemExit, match=f"Port {port} of 127.0.0.1 is in use. Start the"):
            listen("127.0.0.1", port)
