"""The door of a kernel that knows no encryption: its notebook server comes in from another node.

    python -m portal.server.kernel_jobs.door FOLDER SOCKETS

It listens on ports with the keys in FOLDER's connection file, which takes the ports, and passes
everything on to the kernel's unix sockets in SOCKETS, which only the user can enter. Others get
nothing.

Source:
    zmq_curve(7), zmq_proxy(3); jupyter_client 8.10, `connect`, for the kinds of sockets.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import zmq

from portal.server.kernel_jobs.handover import CONNECTION, write_json
from portal.server.kernel_jobs.job import CHANNELS

_PUBLISHES = "iopub"


def open_door(folder: Path, sockets: Path) -> list[tuple[zmq.Socket[Any], zmq.Socket[Any]]]:
    """Return the outer and the inner socket of each channel, and write the ports to a folder."""
    info = json.loads((folder / CONNECTION).read_text("utf-8"))
    inside = json.loads((sockets / CONNECTION).read_text("utf-8"))
    context: zmq.Context[Any] = zmq.Context.instance()
    pairs = []
    for name in CHANNELS:
        kinds = (zmq.XPUB, zmq.XSUB) if name == _PUBLISHES else (zmq.ROUTER, zmq.DEALER)
        outer, inner = (context.socket(kind) for kind in kinds)
        for one in (outer, inner):
            # What is printed while the network is away has to wait somewhere.
            one.set_hwm(0)
            one.linger = 0
        outer.curve_server = True
        outer.curve_publickey = info["curve_publickey"].encode()
        outer.curve_secretkey = info["curve_secretkey"].encode()
        info[f"{name}_port"] = outer.bind_to_random_port("tcp://0.0.0.0")
        # A kernel asks for input on one channel whoever came by another.
        inner.identity = b"door"
        inner.connect(f"ipc://{inside['ip']}-{inside[f'{name}_port']}")
        if name == _PUBLISHES:
            # Before the first page listens, and when the last one has gone.
            inner.send(b"\x01")
        pairs.append((outer, inner))
    write_json(folder / CONNECTION, info)
    return pairs


def main() -> None:
    """Pass on until the job ends this process."""
    folder, sockets = map(Path, sys.argv[1:])
    # A proxy each: one that waits for a slow page holds up no other.
    threads = [threading.Thread(target=zmq.proxy, args=pair) for pair in open_door(folder, sockets)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
