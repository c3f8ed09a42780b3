"""The ports of Python's debugger: only programs of its user get through.

debugpy runs whatever it is told, and asks nobody for a token.
"""

from __future__ import annotations

import contextlib
import functools
import socket
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .connection_user import is_own_users

DEBUGPY = "debugpy.common.sockets"
# The function of each module that opens a port for others to connect to.
#
# Source:
#     debugpy 1.8: of adapter and debugged program. Without an adapter pydevd, which it contains,
#     opens the port.
OPENERS = {DEBUGPY: "create_server", "_pydevd_bundle.pydevd_comm": "create_server_socket"}
# In which a debugged program waits for its adapter, as debugpy does.
CLOSE_TIMEOUT_S = 30


class OwnUsersListener(socket.socket):
    """Closes connections of other users before a byte is read."""

    def accept(self) -> tuple[socket.socket, Any]:
        """Wait for a connection of this process's user."""
        while True:
            connection, there = super().accept()
            if is_own_users(there, connection.getsockname()):
                return connection, there
            connection.close()


def guard_listeners(debugger: ModuleType) -> None:
    """Let a module of OPENERS, just imported, accept only connections of its own user.

    PyCharm has a pydevd of its own, which may listen in another way and is left as it is then.

    Raises:
        ImportError: If this debugpy opens its ports in an unknown way.
    """
    name = OPENERS[debugger.__name__]
    if hasattr(debugger, name):
        setattr(debugger, name, guarded(getattr(debugger, name)))
    elif debugger.__name__ == DEBUGPY:
        raise ImportError(
            "This debugpy opens its ports in a way that the portal does not know, so other users "
            "of the node could run code as you. Install debugpy 1.8."
        )
    if hasattr(debugger, "close_socket"):
        debugger.__dict__["close_socket"] = close_after_the_other_end


def guarded(opener: Callable[..., socket.socket]) -> Callable[..., socket.socket]:
    """Return a function that opens the same port for its own user alone."""

    @functools.wraps(opener)
    def open_port(*args: Any, **kwargs: Any) -> socket.socket:
        opened = opener(*args, **kwargs)
        timeout_s = opened.gettimeout()
        listener = OwnUsersListener(fileno=opened.detach())
        listener.settimeout(timeout_s)
        return listener

    return open_port


def close_after_the_other_end(connection: socket.socket) -> None:
    """Close a connection, which has a user only as long as both ends are open.

    The adapter sends a debugged program no more than its ports before it closes.
    """
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(CLOSE_TIMEOUT_S)
        while connection.recv(1024):
            pass
    connection.close()
