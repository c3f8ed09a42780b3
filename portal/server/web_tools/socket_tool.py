"""Starts a web tool that listens on a unix socket by itself, so that it ends with its server.

socket_tool PARENT_PID PROGRAM ARGUMENT ...
"""

from __future__ import annotations

import os
import signal
import sys

from portal.server.viewers.tensorboard.process.private_network import die_with


def main() -> int:
    """Become the tool.

    Returns:
        1 if the notebook server is gone already, else it never returns.
    """
    parent_pid, *command = sys.argv[1:]
    # Not killed: a tool such as code-server ends its own processes at SIGTERM.
    if die_with(int(parent_pid), signal.SIGTERM):
        os.execvp(command[0], command)  # noqa: S606 (no shell is wanted)
    return 1
