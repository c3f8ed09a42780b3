"""Which TCP ports of the node belong to programs of this session, and to nobody else."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from dsportal.slurm.errors import PortalError
from dsportal.start.tcp_table import LISTENS, TcpSocket, read_tcp_table

LOOPBACK = "127.0.0.1"
# Addresses of listening sockets that receive connections to it; those of IPv6 may accept IPv4, too.
_REACHED = {ip_address(LOOPBACK), ip_address("0.0.0.0"), ip_address("::")}  # noqa: S104
_JOB_OF_CGROUP = re.compile(r"/job_([0-9]+)(?:/|$)", re.ASCII | re.MULTILINE)


class SilentPortError(PortalError):
    """Nothing listens on the requested port, or it does not answer."""

    http_status = 502


class ForeignPortError(PortalError):
    """What listens on the requested port belongs to another user or session."""

    http_status = 403


class SessionPorts:
    """Tells the ports of this session from those of other sessions and users of the node.

    Args:
        environ: Has SLURM_JOB_ID in a job.
        proc: Mount point of procfs.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._pid = os.getpid()
        self._uid = os.geteuid()
        self._job_id = environ.get("SLURM_JOB_ID", "")
        self._cgroup_job = self._read_cgroup_job(self._pid)

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
            port: The port that was connected to.
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
        for folder in self._proc.glob("[0-9]*"):
            # A process may end meanwhile, or be another user's.
            with suppress(OSError):
                if folder.stat().st_uid == self._uid:
                    held = {os.readlink(link) for link in (folder / "fd").iterdir()} & set(names)
                    if held and self._is_of_session(int(folder.name)):
                        found |= {names[name] for name in held}
        return found

    def _is_of_session(self, pid: int) -> bool:
        # A process cannot leave the cgroup of its job, but it can change its environment.
        if self._cgroup_job:
            return self._read_cgroup_job(pid) == self._cgroup_job
        if self._job_id:
            variables = (self._proc / str(pid) / "environ").read_bytes().split(b"\0")
            if f"SLURM_JOB_ID={self._job_id}".encode() in variables:
                return True
        return self._descends_from_server(pid)

    def _read_cgroup_job(self, pid: int) -> str:
        try:
            found = _JOB_OF_CGROUP.search((self._proc / str(pid) / "cgroup").read_text("utf-8"))
        except OSError:
            return ""
        return found[1] if found else ""

    def _descends_from_server(self, pid: int) -> bool:
        while pid > 1 and pid != self._pid:
            # The program's name in parentheses may hold anything, including parentheses and blanks.
            text = (self._proc / str(pid) / "stat").read_text("utf-8", errors="replace")
            pid = int(text.rpartition(")")[2].split()[1])
        return pid == self._pid
