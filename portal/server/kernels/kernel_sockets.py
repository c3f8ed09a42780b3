"""Kernels listen on sockets that only the user can open.

On TCP every user of the node could read what a cell prints: only what is sent to a kernel is
signed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from traitlets.config import Config

from portal.server.private_dir import make_private_dir

# The address of a unix socket takes 107 bytes, of which "/kernel-<36 characters>-ipc-5" are these.
_MAX_FOLDER_BYTES = 107 - 50


def make_connections_dir(private_dir: Path) -> Path | None:
    """Make a folder for the sockets of kernels, with mode 0700.

    Args:
        private_dir: A folder that only the user can enter; where its path is too long for sockets
            the folder is made in /tmp.

    Returns:
        The folder, or None where there is no room for it.

    Source:
        unix(7) for the longest address; jupyter_client 8.9, `ConnectionFileMixin.ip`.
    """
    folder = private_dir / "k"
    try:
        if len(os.fsencode(folder)) > _MAX_FOLDER_BYTES:
            return make_private_dir({})
        folder.mkdir(mode=0o700)
    except OSError:
        return None
    return folder


def listen_on_sockets(kernel_manager: Any, folder: Path) -> None:
    """Have all kernels that start from now on listen in a folder.

    Args:
        kernel_manager: That of the notebook server.
        folder: Where connection files and sockets go.

    Source:
        jupyter_client 8.9, `KernelManager.transport`; zmq_ipc(7).
    """
    kernel_manager.connection_dir = str(folder)
    kernel_manager.update_config(Config({"KernelManager": {"transport": "ipc"}}))
