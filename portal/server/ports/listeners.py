"""Which TCP ports of the node belong to programs of this session, and to nobody else."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from dsportal.slurm.errors import PortalError
from dsportal.start.tcp_table import LISTENS, TcpSocket, read_tcp_table

LOOPBACK = "127.0.0.1"
# Addresses of listening sockets that receive connections to it; those of IPv6 may accept IPv4, too.
_REACHED = {ip_address(LOOPBACK), ip_address("0.0.0.0"), ip_address("::")}  # noqa: S104


class SilentPortError(PortalError):
    """Nothing listens on the requested port, or it does not answer."""

    http_status = 502


class ForeignPortError(PortalError):
    """What listens on the requested port belongs to another user or session."""

    http_status = 403


class SessionPorts:
    """Tells the ports of this session from those of other sessions and users of the node.

    Args:
        pids: Returns the processes of the session.
        proc: Mount point of procfs.
    """

    def __init__(self, pids: Callable[[], Iterable[int]], proc: Path = Path("/proc")) -> None:
        self._pids = pids
        self._proc = proc
        self._uid = os.geteuid()

    def listeners(self, port: int) -> frozenset[TcpSocket]:
        """Return the sockets, one or more, that receive connections to this port of 127.0.0.1."""
        found = frozenset(
            one
            for one in self._sockets()
            if one.state == LISTENS and one.port == port and one.address in _REACHED
        )
        if not found:
            raise SilentPortError(
                f"Nothing listens on port {port} of 127.0.0.1. Start your program in this session "
                "with this port, then reload the page."
            )
        foreign = {s.inode for s in found if s.uid != self._uid}
        if foreign or not {s.inode for s in found} <= self._inodes({s.inode for s in found}):
            raise ForeignPortError(
                f"What listens on port {port} was not started in this session, so nothing was "
                "sent to it. Give your program a port that is free."
            )
        return found

    def check_connection(self, port: int, own_port: int, listeners: frozenset[TcpSocket]) -> None:
        """Refuse a connection that another program may have taken meanwhile.

        Args:
            own_port: The port at this end of the connection.
            listeners: What listened before the connection was made.
        """
        is_same = self.listeners(port) == listeners
        own_end = f":{own_port:04X}"
        ends = [s for s in self._sockets() if s.port == port and s.there.endswith(own_end)]
        # An unaccepted connection has no owner yet: it waits at the socket that was checked.
        if not is_same or any(s.inode and s.uid != self._uid for s in ends) or not ends:
            raise ForeignPortError(
                f"What listens on port {port} changed in this moment, so nothing was sent to it. "
                "Reload the page."
            )

    def _sockets(self) -> Iterator[TcpSocket]:
        return read_tcp_table(self._proc / "self/net")

    def _inodes(self, wanted: Iterable[int]) -> set[int]:
        """Return those of the inodes that a process of the session holds."""
        names = {f"socket:[{inode}]": inode for inode in wanted}
        found: set[int] = set()
        for pid in self._pids():
            # A process may end meanwhile.
            with suppress(OSError):
                held = {os.readlink(link) for link in (self._proc / str(pid) / "fd").iterdir()}
                found |= {names[name] for name in held & set(names)}
        return found
