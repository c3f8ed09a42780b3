"""The ports of a kernel that an editor starts: only programs of its user get through."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from typing import Any, NoReturn

from .connection_user import is_own_users
from .tcp_table import FOLDER

# How the process that forwards is called in lists of processes.
FORWARDER = "kernel-ports"
CHANNELS = ("shell", "stdin", "control", "iopub", "hb")
# A unix socket's address holds 107 bytes, and its name takes 8: "/k-65535".
MAX_FOLDER_BYTES = 107 - 8
N_WAITING_CONNECTIONS = 100
N_BYTES_AT_ONCE = 64 * 1024
RETRY_S = 0.05
# A restarted kernel gets the ports of one that is just ending.
PORT_TIMEOUT_S = 10
# For the last output of a kernel that has ended.
LAST_OUTPUT_TIMEOUT_S = 2


def forward_ports(app: Any) -> str:
    """Listen on the ports of a connection file and forward from them in another process.

    A thread would stand still in a cell that holds Python's lock.

    Args:
        app: ipykernel's, which has read the file; ports of 0 are replaced by those that are taken.

    Returns:
        What the addresses of the sockets begin with that the kernel shall bind: the rest of an
        address is "-" and the port.
    """
    if not app.ip.startswith("127."):
        sys.exit(
            f"The connection file asks for ports of {app.ip}. A kernel of the portal listens on "
            "127.0.0.1 only, where it can tell who connects. Set ip to 127.0.0.1."
        )
    if not os.access(FOLDER / "tcp", os.R_OK):
        sys.exit(f"{FOLDER}/tcp cannot be read, so a kernel on ports could not tell who connects")
    listeners = []
    for channel in CHANNELS:
        listener = listen(app.ip, getattr(app, channel + "_port"))
        setattr(app, channel + "_port", listener.getsockname()[1])
        listeners.append(listener)
    folder = make_private_folder()
    start_forwarder(listeners, folder)
    return os.path.join(folder, "k")


def listen(ip: str, port: int) -> socket.socket:
    """Return a socket that listens on a port, or on any that is free if it is 0.

    Raises:
        OSError: If it cannot listen for another reason than that the port is in use.
    """
    last_s = time.monotonic() + PORT_TIMEOUT_S
    while True:
        listener = socket.socket()
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((ip, port))
            listener.listen(N_WAITING_CONNECTIONS)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise
            if time.monotonic() > last_s:
                sys.exit(f"Port {port} of {ip} is in use. Start the kernel again with other ports.")
            time.sleep(RETRY_S)
        else:
            listener.setblocking(False)
            return listener


def make_private_folder() -> str:
    """Make a folder that only the user can enter, in the session's own if there is one."""
    session = os.path.dirname(os.environ.get("PORTAL_SERVER_SOCKET", ""))
    places = [(session, "")] if session else []
    for parent, prefix in [*places, ("/tmp", "dsportal-kernel-")]:  # noqa: S108
        with contextlib.suppress(OSError):
            folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
            if len(os.fsencode(folder)) <= MAX_FOLDER_BYTES:
                return folder
            os.rmdir(folder)
    sys.exit("No folder for the kernel's sockets can be made in /tmp. Make room there.")


def start_forwarder(listeners: Iterable[socket.socket], folder: str) -> None:
    """Fork the process that forwards; kernel and forwarder end if the other does.

    The connection between them says so. It is no child of the kernel, which would end it together
    with what a cell has started, and before the last messages.
    """
    own, other = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                run_forwarder(listeners, other, folder)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    for one in [other, *listeners]:
        one.close()
    # What a cell forks may outlive the kernel.
    os.register_at_fork(after_in_child=own.close)

    def end_with_forwarder() -> NoReturn:
        own.recv(1)
        shutil.rmtree(folder, ignore_errors=True)
        print("Nobody reaches this kernel: its forwarder has ended.", file=sys.__stderr__)
        os._exit(1)

    threading.Thread(target=end_with_forwarder, name=FORWARDER, daemon=True).start()


def run_forwarder(listeners: Iterable[socket.socket], kernel: socket.socket, folder: str) -> None:
    """Forward until the kernel ends, then remove its folder."""
    # An interrupt is for the cell; the end of a session comes to the kernel, too.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    try:
        os.chdir("/")
        with open("/proc/self/comm", "w") as comm:
            comm.write(FORWARDER)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        kept = {0, 1, 2, kernel.fileno(), *(one.fileno() for one in listeners)}
        # An editor waits for the end of what it has opened for the kernel.
        for opened in {int(name) for name in os.listdir("/proc/self/fd")} - kept:
            with contextlib.suppress(OSError):
                os.close(opened)
        asyncio.run(forward(listeners, kernel, os.path.join(folder, "k")))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def forward(listeners: Iterable[socket.socket], kernel: socket.socket, address: str) -> None:
    """Forward all connections until the kernel ends."""
    kernel.setblocking(False)
    loop = asyncio.get_running_loop()
    outputs: set[asyncio.Task[None]] = set()
    accepting = [loop.create_task(accept(one, address, outputs)) for one in listeners]
    with contextlib.suppress(OSError):
        await loop.sock_recv(kernel, 1)
    for task in accepting:
        task.cancel()
    await asyncio.wait(accepting)
    # A restarted kernel wants them.
    for one in listeners:
        one.close()
    if outputs:
        await asyncio.wait(outputs, timeout=LAST_OUTPUT_TIMEOUT_S)


async def accept(
    listener: socket.socket, address: str, outputs: set[asyncio.Task[None]]
) -> NoReturn:
    """Let programs of the user connect to a port, and nobody else."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()
    while True:
        # So that whoever connects again and again does not keep the others waiting.
        await asyncio.sleep(0)
        try:
            client, there = await loop.sock_accept(listener)
        except OSError:
            # There are too many connections.
            await asyncio.sleep(RETRY_S)
            continue
        here = client.getsockname()
        if not is_own_users(there, here):
            client.close()
            continue
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = loop.create_task(join(client, f"{address}-{here[1]}", outputs))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def join(client: socket.socket, address: str, outputs: set[asyncio.Task[None]]) -> None:
    """Pass everything on between a client and the kernel's socket, both ways."""
    loop = asyncio.get_running_loop()
    with client, socket.socket(socket.AF_UNIX) as kernel:
        kernel.setblocking(False)
        # The kernel binds its sockets after the ports are open, and cannot say when.
        while kernel.connect_ex(address):  # noqa: ASYNC110
            await asyncio.sleep(RETRY_S)
        output = loop.create_task(pass_on(kernel, client))
        outputs.add(output)
        output.add_done_callback(outputs.discard)
        await asyncio.wait([output, loop.create_task(pass_on(client, kernel))])


async def pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Pass on what comes from a socket, no faster than it is taken, and then its end."""
    loop = asyncio.get_running_loop()
    try:
        while True:
            data = await loop.sock_recv(source, N_BYTES_AT_ONCE)
            if not data:
                break
            await loop.sock_sendall(sink, data)
            # The other connections have their turn.
            await asyncio.sleep(0)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
