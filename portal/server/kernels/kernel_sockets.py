"""Makes kernels listen on unix sockets that only the user can open.

On TCP every user of the node could read what a cell prints: only messages to a kernel are signed.
jupyter_client 8.10 can encrypt TCP instead (`transport_encryption`). That would be a second way and
not a shorter one: R's kernel and older ones of Python know no encryption, editors that start a
kernel ask for none, and ipykernel 7.4 opens a port without it for the output of forked children.
"""

import os
from pathlib import Path

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from traitlets.config import Config

from portal.server.base.private_dir import make_private_dir

# A unix socket's address holds 107 bytes, and "/kernel-<36 characters>-ipc-5" takes up to 50.
_MAX_FOLDER_BYTES = 107 - 50


def listen_on_sockets(kernel_manager: AsyncMappingKernelManager, private_dir: Path) -> Path | None:
    """Have all kernels that start from now on listen on sockets in a folder with mode 0700.

    It is made in `private_dir`, which only the user can enter, or in /tmp if that path is too long
    for sockets.

    Returns:
        The folder, or None if none can be made: then kernels listen on ports.

    Source:
        unix(7) for the longest address; jupyter_client 8.9, `ConnectionFileMixin.ip` and
        `KernelManager.transport`; zmq_ipc(7).
    """
    folder = private_dir / "k"
    try:
        if len(os.fsencode(folder)) > _MAX_FOLDER_BYTES:
            # Without variables it is made in /tmp, whose path is short.
            folder = make_private_dir({})
        else:
            folder.mkdir(mode=0o700)
    except OSError:
        return None
    # In the folder that only the user can enter: with ipc, the address is a path beside this file.
    kernel_manager.connection_dir = str(folder)
    kernel_manager.update_config(Config({"KernelManager": {"transport": "ipc"}}))
    return folder
