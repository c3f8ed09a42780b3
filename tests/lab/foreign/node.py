"""Process 1 of a compute node of the foreign cluster: node.py NAME, run in new namespaces."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

# The name service's socket is of the head; a node of a real cluster has its own.
NAME_SERVICE_DIR = "/run/nslcd"


def main(name: str) -> None:
    """Give the node a name, /proc, /tmp and /run of its own, and start slurmd."""
    socket.sethostname(name)
    kept = os.open(NAME_SERVICE_DIR, os.O_PATH)
    mount("-t", "proc", "proc", "/proc")
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/tmp")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    os.makedirs(NAME_SERVICE_DIR)
    mount(
        "--no-canonicalize", "--bind", f"/proc/self/fd/{kept}", NAME_SERVICE_DIR, pass_fds=(kept,)
    )
    subprocess.Popen(["slurmd", "-D"], stdin=subprocess.DEVNULL, start_new_session=True)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            time.sleep(0.2)


def mount(*arguments: str, pass_fds: tuple[int, ...] = ()) -> None:
    """Mount something."""
    subprocess.run(["mount", *arguments], check=True, pass_fds=pass_fds)


if __name__ == "__main__":
    main(sys.argv[1])
