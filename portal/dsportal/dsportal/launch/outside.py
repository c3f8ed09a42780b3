"""Slurm's programs for a kernel in a container image, where they are missing.

The session's notebook server starts them outside of the image: it gets the three standard streams
of this process, so that a program reads and writes as if it had been started here.

Run as `outside.py SOCKET PROGRAM ...`, without the folder of this package.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Set in the kernel of an image, by the notebook server that started it.
IMAGE_VARIABLE = "PORTAL_IMAGE_START"
SOCKET_VARIABLE = "PORTAL_SESSION_SLURM_SOCKET"
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
_N_STREAMS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageStart:
    """How the image that a kernel is in is entered.

    Attributes:
        python: A Python outside of images, on all nodes, that finds `dsportal`.
        rank: The start of the command of a rank in the same image; the run's folder is missing.
    """

    python: str
    rank: tuple[str, ...]


def read_image_start(environ: Mapping[str, str]) -> ImageStart | None:
    """Return how the image that this kernel is in is entered, or None if it is in none."""
    text = environ.get(IMAGE_VARIABLE)
    if not text:
        return None
    words = json.loads(text)
    return ImageStart(python=words["python"], rank=tuple(words["rank"]))


def reach(argv: Sequence[str]) -> list[str]:
    """Return a command that runs a program of Slurm's from this kernel."""
    socket_path = os.environ.get(SOCKET_VARIABLE, "")
    if not (socket_path and IMAGE_VARIABLE in os.environ):
        return [*argv]
    return [sys.executable, "-I", "-S", __file__, socket_path, *argv]


def main(argv: Sequence[str]) -> int:
    """Have a program started outside, and wait for its end.

    Returns:
        Its exit status; 128 and more after a signal, as a shell reports it.
    """
    order = json.dumps({"argv": argv[2:], "environ": dict(os.environ)}).encode()
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(argv[1])
            head = len(order).to_bytes(8, "big")
            socket.send_fds(server, [head], list(range(_N_STREAMS)))
            server.sendall(order)
        except OSError as error:
            print(
                f"The notebook server of this session, which starts {argv[2]} for this kernel, "
                f"gave no answer ({error}). If the session was restarted, restart the kernel too.",
                file=sys.stderr,
            )
            return 1
        for number in _PASSED_ON:
            signal.signal(number, lambda got, frame: server.send(bytes([got])))
        status = server.recv(1)
    return status[0] if status else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
