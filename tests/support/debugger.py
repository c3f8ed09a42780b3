"""debugpy in a Python of a session, and the ports that it and its adapter open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from portal.environments.command import FIRST_IN_PATH
from tests.support.eventually import eventually

CHECKOUT = Path(__file__).parents[2]
FIRST = CHECKOUT / "portal/dsportal" / FIRST_IN_PATH
TIMEOUT_S = 60
# The adapter leaves its parents, but keeps their variables.
_MARK = "DSPORTAL_TEST_DEBUGGER"
_REQUEST = json.dumps(
    {
        "seq": 1,
        "type": "request",
        "command": "initialize",
        "arguments": {"adapterID": "debugpy", "pathFormat": "path"},
    }
)
# The first request of a debugger.
GREETING = f"Content-Length: {len(_REQUEST)}\r\n\r\n{_REQUEST}".encode()


@contextmanager
def debugged(*arguments: str, **environ: str) -> Iterator[str]:
    """Run this Python as in a session, and yield the mark of it and of what it starts.

    It is to write a line once it is ready.
    """
    mark = uuid.uuid4().hex
    path = f"{FIRST}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")
    variables = {**os.environ, "PYTHONPATH": path, **mark_of(mark), **environ}
    # No pipe: the adapter would hold its end if the program did not start.
    with tempfile.NamedTemporaryFile() as written:
        words = [sys.executable, *arguments]
        program = subprocess.Popen(words, env=variables, stdin=subprocess.PIPE, stdout=written)
        try:
            eventually(Path(written.name).read_text, timeout_s=TIMEOUT_S)
            yield mark
        finally:
            for process in marked(mark):
                process.kill()
            program.communicate()


def mark_of(name: str) -> dict[str, str]:
    """Return the variables that let `open_ports` find a process and what it starts."""
    return {_MARK: name}


def marked(mark: str) -> list[psutil.Process]:
    """Return the running processes that have a mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(_MARK) == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found


def open_ports(mark: str) -> list[int]:
    """Return the TCP ports on which marked processes listen."""
    ports = set()
    for process in marked(mark):
        try:
            connections = process.net_connections("tcp")
        except psutil.Error:
            continue
        ports |= {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}
    return sorted(ports)
