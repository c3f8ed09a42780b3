import socket
import threading
from types import ModuleType

import pytest

from dsportal.start import debugger_ports
from dsportal.start.debugger_ports import (
    DEBUGPY,
    OPENERS,
    close_after_the_other_end,
    guard_listeners,
)

PYDEVD = "_pydevd_bundle.pydevd_comm"
TIMEOUT_S = 10


def debugger(name: str) -> ModuleType:
    """Return a module that opens a port as that of this name does."""
    module = ModuleType(name)

    def open_port(host: str, port: int, *, timeout: float | None = None) -> socket.socket:
        listener = socket.socket()
        listener.bind((host, port))
        listener.settimeout(timeout)
        listener.listen()
        return listener

    module.__dict__[OPENERS[name]] = open_port
    return module


def test_what_another_user_opens_is_closed_and_the_own_user_is_let_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = debugger(DEBUGPY)
    guard_listeners(module)
    # Of the first connection, then of the second.
    answers = [False, True]
    monkeypatch.setattr(debugger_ports, "is_own_users", lambda *_: answers.pop(0))

    with module.create_server("127.0.0.1", 0, timeout=TIMEOUT_S) as listener:
        assert listener.gettimeout() == TIMEOUT_S
        address = listener.getsockname()
        with socket.create_connection(address, TIMEOUT_S) as stranger:
            with socket.create_connection(address, TIMEOUT_S) as own:
                accepted, there = listener.accept()
                with accepted:
                    assert there == own.getsockname()
            assert stranger.recv(1) == b""


def test_a_debugpy_that_listens_in_another_way_is_refused() -> None:
    with pytest.raises(ImportError, match="Install debugpy 1"):
        guard_listeners(ModuleType(DEBUGPY))


def test_another_pydevd_is_left_as_it_is() -> None:
    module = ModuleType(PYDEVD)

    guard_listeners(module)

    assert not hasattr(module, OPENERS[PYDEVD])


def test_the_end_that_closes_first_stays_until_the_other_has_seen_whose_it_is() -> None:
    first, second = socket.socketpair()
    closing = threading.Thread(target=close_after_the_other_end, args=[first])
    closing.start()
    with second:
        assert second.recv(1) == b""
        assert first.fileno() >= 0, "it is open"
    closing.join(TIMEOUT_S)

    assert first.fileno() == -1
