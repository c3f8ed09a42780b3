"""The ssh connections of a session: an sshd of the user's own for each, ended with the session."""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from dsportal.amounts import count
from portal.server.base.private_dir import make_private_dir
from portal.server.ssh.host_key import make_host_key
from portal.server.ssh.programs import end_programs
from portal.server.ssh.sshd import (
    LOGIN_PROGRAM,
    SshError,
    SshLimitError,
    check_public_key,
    describe_login,
    find_sftp_server,
    find_sshd,
    sshd_config,
)
from portal.settings.ssh import SshSettings

# A full pipe to a slow laptop is to hold sshd up, not to fill the memory of the session.
_CHUNK_BYTES = 64 * 1024
_STOP_TIMEOUT_S = 5
# An editor that is open but unused sends signs of life all the time.
ACTIVE_BYTES = 4096
ACTIVE_WINDOW_S = 60.0
# Keys and settings are kept in memory: nothing of a session is left on a node's disk.
_MEMORY = {"TMPDIR": "/dev/shm"}  # noqa: S108


class Traffic:
    """Tells use from signs of life: bytes from the laptop within a minute."""

    def __init__(self) -> None:
        self._since_s = 0.0
        self._n_bytes = 0

    def note(self, n_bytes: int, now_s: float) -> bool:
        """Note bytes that came at `now_s`, by a monotonic clock; return whether this is use."""
        if now_s - self._since_s >= ACTIVE_WINDOW_S:
            self._since_s, self._n_bytes = now_s, 0
        self._n_bytes += n_bytes
        return self._n_bytes >= ACTIVE_BYTES


class SshConnection:
    """A running sshd and the stream to it.

    Args:
        folder: Its settings and its authorized key.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        folder: Path,
        log: logging.Logger,
    ) -> None:
        self._process = process
        self._reader, self._writer = streams
        self._folder = folder
        self._log = log
        self._traffic = Traffic()
        self._complaints = asyncio.create_task(self._log_complaints())

    async def read(self) -> bytes:
        """Return the next bytes of sshd; empty once it has ended."""
        try:
            return await self._reader.read(_CHUNK_BYTES)
        except OSError:
            return b""

    async def write(self, data: bytes) -> bool:
        """Give bytes of the laptop to sshd; return whether they count as use of the session."""
        with contextlib.suppress(OSError):
            self._writer.write(data)
            await self._writer.drain()
        return self._traffic.note(len(data), time.monotonic())

    async def close(self) -> None:
        """End sshd and with it the terminals of this connection; remove its folder."""
        self._writer.close()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_TIMEOUT_S)
        except TimeoutError:
            # A group of its own, which what logins have started does not belong to.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        self._complaints.cancel()
        await asyncio.gather(self._complaints, return_exceptions=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _log_complaints(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (line := await stderr.readline()):
            self._log.warning("sshd: %s", line.decode(errors="replace").strip())


class SshConnections:
    """Opens connections and ends them.

    Args:
        environ: Variables that logins get.
    """

    def __init__(
        self, settings: SshSettings, environ: Mapping[str, str], log: logging.Logger
    ) -> None:
        self._limit = settings.limit
        self._forwards_ports = settings.forwards_ports
        self._environ = environ
        self._log = log
        self._folder: Path | None = None
        self._open: set[SshConnection] = set()
        self._n_opening = 0
        self.host_key = ""

    def __len__(self) -> int:
        return len(self._open) + self._n_opening

    @property
    def terminals_dir(self) -> Path | None:
        """Folder in which interactive logins are listed; None before the first connection."""
        return None if self._folder is None else self._folder / "terminals"

    async def open(self, public_key: object, ends_s: float | None) -> SshConnection:
        """Start an sshd that lets in who holds this key.

        Args:
            public_key: One line of OpenSSH's format, not checked yet.
            ends_s: When the session ends, as Unix time; None if that is not known.
        """
        if not self._limit:
            raise SshError(
                "The administrators have switched connections over ssh off at this portal. Use "
                "JupyterLab and its terminals."
            )
        if len(self) >= self._limit:
            raise SshLimitError(
                f"The session already has {count(len(self), 'connection')} over ssh, the most that "
                "it may have. Close an editor or a terminal, then connect again."
            )
        program, key = find_sshd(), check_public_key(public_key)
        # Counted before the first await, so that many at once do not pass the limit.
        self._n_opening += 1
        try:
            connection = await self._start(program, key, ends_s)
        except OSError as error:
            raise SshError(
                f"sshd cannot be started on this node ({error}). Tell the administrators. Until "
                "then use JupyterLab and its terminals."
            ) from error
        finally:
            self._n_opening -= 1
        self._open.add(connection)
        return connection

    async def close(self, connection: SshConnection) -> None:
        """End one."""
        if connection in self._open:
            self._open.remove(connection)
            await connection.close()

    async def stop(self) -> None:
        """End all of them with what they have started, and remove the keys."""
        self._limit = 0
        await asyncio.gather(*(self.close(one) for one in tuple(self._open)))
        await asyncio.to_thread(end_programs, self._environ.get("SLURM_JOB_ID", ""))
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _start(self, program: str, public_key: str, ends_s: float | None) -> SshConnection:
        home = self._prepare()
        folder = Path(tempfile.mkdtemp(dir=home))
        try:
            config = self._write_files(home, folder, public_key, ends_s)
            process, streams = await _start_sshd([program, "-i", "-e", "-f", str(config)])
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return SshConnection(process, streams, folder, self._log)

    def _write_files(self, home: Path, folder: Path, public_key: str, ends_s: float | None) -> Path:
        login = describe_login(self._environ, ends_s=ends_s, terminals_dir=home / "terminals")
        files = {
            "login.json": json.dumps(login),
            "authorized_keys": f"{public_key}\n",
            "sshd_config": sshd_config(
                host_key=home / "host_key",
                authorized_keys=folder / "authorized_keys",
                login_argv=(sys.executable, "-IS", str(LOGIN_PROGRAM), str(folder / "login.json")),
                sftp_server=find_sftp_server(),
                forwards_ports=self._forwards_ports,
            ),
        }
        for name, text in files.items():
            _write_private(folder / name, text.encode())
        return folder / "sshd_config"

    def _prepare(self) -> Path:
        if self._folder is None:
            folder = make_private_dir(_MEMORY)
            (folder / "terminals").mkdir()
            private, self.host_key = make_host_key()
            _write_private(folder / "host_key", private)
            self._folder = folder
        return self._folder


async def _start_sshd(
    argv: list[str],
) -> tuple[asyncio.subprocess.Process, tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=asyncio.subprocess.PIPE,
                # Nothing of the session's server: logins get theirs from the file.
                env={"PATH": os.defpath},
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    return process, await asyncio.open_connection(sock=ours)


def _write_private(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
