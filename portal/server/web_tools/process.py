"""Puts a unix socket in front of a web tool that can only listen on a port; run as a program.

    web_tool_process SOCKET PROGRAM ARGUMENT ...

It is started with a private network, where nobody else reaches the tool's port; "@PORT@" in the
arguments becomes the number. Needs only the standard library.
"""

import asyncio
import contextlib
import functools
import os
import signal
import socket
import sys
from collections.abc import Sequence

from portal.server.base.child_process import REASON_VARIABLE, die_with

_PORT_MARK = "@PORT@"
_START_TIMEOUT_S = 120
_POLL_S = 0.05
_CHUNK_BYTES = 64 * 1024


def main(argv: Sequence[str] | None = None) -> int:
    """Run one tool until it ends.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        The tool's exit status; 1 if it cannot be run without others reaching it.
    """
    socket_path, *command = sys.argv[1:] if argv is None else argv
    if reason := os.environ.get(REASON_VARIABLE):
        sys.stderr.write(f"The tool would be open to other users, because {reason}. Not started.\n")
        return 1
    return asyncio.run(_serve(socket_path, command))


async def _serve(socket_path: str, command: Sequence[str]) -> int:
    port = _free_port()
    process = await asyncio.create_subprocess_exec(
        *(word.replace(_PORT_MARK, str(port)) for word in command),
        # If this process is killed, no handler runs; the kernel then ends the tool.
        preexec_fn=functools.partial(die_with, os.getpid()),
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, process.terminate)
    ended = asyncio.create_task(process.wait())
    if not await _listens(port, ended):
        # A tool that ends with 0 before it listens has failed, too.
        return await ended or 1

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _forward(reader, writer, port)

    # bind() makes the socket with mode 0600.
    old_mask = os.umask(0o177)
    try:
        server = await asyncio.start_unix_server(forward, socket_path)
    finally:
        os.umask(old_mask)
    async with server:
        return await ended


def _free_port() -> int:
    with socket.socket() as probe:
        # Nobody else can take it in between: the network is the tool's own.
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _listens(port: int, ended: asyncio.Task[int]) -> bool:
    for _ in range(round(_START_TIMEOUT_S / _POLL_S)):
        if ended.done():
            return False
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return True
        await asyncio.sleep(_POLL_S)
    return False


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    try:
        tool_reader, tool_writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(_copy(reader, tool_writer), _copy(tool_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


if __name__ == "__main__":
    sys.exit(main())
