"""Starts Slurm's programs for kernels in container images, which lack them.

On a unix socket that only the user can open. An image has no wall around the user's account: its
programs see the home, so they could do as much in other ways.
"""

import json
import logging
import os
import socket
import socketserver
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

VARIABLE = "PORTAL_SESSION_SLURM_SOCKET"
_PROGRAMS = frozenset({"sacct", "sbatch", "scancel", "sinfo", "squeue", "srun"})
_N_STREAMS = 3
_LENGTH_BYTES = 8
_MAX_ORDER_BYTES = 8 * 1024 * 1024
# An srun passes SIGTERM on to its ranks and waits for them.
_ENDS_WITHIN_S = 5.0
# What an image has set for its own programs would mislead those outside of it.
_OF_OUTSIDE = ("PATH", "LD_", "PYTHONPATH", "PYTHONHOME", "APPTAINER", "SINGULARITY", "BASH_ENV")
_OF_SLURM = ("SLURM_CONF",)


def environment_outside(inside: Mapping[str, str], outside: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program outside of an image.

    Args:
        inside: Environment of the kernel, with what the user has set there.
        outside: Environment of the notebook server, which finds programs and libraries here.
    """
    own = (*_OF_OUTSIDE, *_OF_SLURM)
    return {
        **{name: value for name, value in inside.items() if not name.startswith(own)},
        **{name: value for name, value in outside.items() if name.startswith(own)},
    }


class SlurmPrograms:
    """Takes orders from kernels in images.

    Args:
        folder: A folder that only the user can enter.
        log: Gets a warning if the socket cannot be opened; the session continues without it.
    """

    def __init__(self, folder: Path, log: logging.Logger) -> None:
        self._path = folder / "slurm"
        self._log = log
        self._server: _Server | None = None

    def open(self) -> None:
        """Listen, and publish the path to kernels that start from now on."""
        try:
            self._server = _Server(str(self._path), _Order)
            self._path.chmod(0o600)
        except OSError as error:
            self._log.warning("Kernels in images cannot start ranks: %s", error)
            return
        threading.Thread(
            target=self._server.serve_forever, name="slurm-programs", daemon=True
        ).start()
        os.environ[VARIABLE] = str(self._path)

    def close(self) -> None:
        """Stop listening; the end of the session's job ends what still runs."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    # Closing must not wait for programs that run.
    block_on_close = False


class _Order(socketserver.BaseRequestHandler):
    request: socket.socket

    def handle(self) -> None:
        """Run one program; a kernel that hangs up ends it."""
        # A kernel that was killed cannot be told.
        with suppress(OSError):
            self.request.sendall(bytes([self._run()]))

    def _run(self) -> int:
        head, streams, _, _ = socket.recv_fds(self.request, _LENGTH_BYTES, _N_STREAMS)
        try:
            argv, environ = self._read(head)
            if len(streams) != _N_STREAMS:
                return 1
            if argv[0] not in _PROGRAMS:
                os.write(streams[2], f"Not started: {argv[0]:.80} is none of Slurm's.\n".encode())
                return 126
            try:
                program = _start(argv, environ, streams)
            except OSError as error:
                text = f"{argv[0]} cannot be started on this node: {error.strerror}.\n"
                os.write(streams[2], text.encode())
                return 127
        finally:
            # Else a reader of what the program prints would wait for ever.
            for stream in streams:
                os.close(stream)
        threading.Thread(target=self._pass_signals_on, args=(program,), daemon=True).start()
        status = program.wait()
        return status if status >= 0 else 128 - status

    def _read(self, head: bytes) -> tuple[list[str], dict[str, str]]:
        n_bytes = int.from_bytes(head, "big")
        if not 0 < n_bytes <= _MAX_ORDER_BYTES:
            raise OSError("no order")
        with self.request.makefile("rb") as file:
            order: dict[str, Any] = json.loads(file.read(n_bytes))
        return [str(word) for word in order["argv"]], dict(order["environ"])

    def _pass_signals_on(self, program: subprocess.Popen[bytes]) -> None:
        with suppress(OSError):
            while number := self.request.recv(1):
                program.send_signal(number[0])
        if program.poll() is None:
            program.terminate()
            try:
                program.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                program.kill()


def _start(
    argv: list[str], environ: Mapping[str, str], streams: list[int]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        env=environment_outside(environ, os.environ),
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        # The notebook's interrupt button signals the kernel, which passes it on if it wants to.
        start_new_session=True,
    )
