"""Handlers that start kernels: a full disk of the node is told as that, not as an error 500.

Source:
    Jupyter Server 2.21.1, `APIHandler.write_error`, which all of them inherit.

Shown by:
    tests/server/test_kernels.py
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupyter_server.services.kernels.handlers import KernelActionHandler, MainKernelHandler
from jupyter_server.services.sessions.handlers import SessionRootHandler
from tornado.web import HTTPError

from portal.server.patches.signature_store import is_full
from spawner.patch import wrap


def explain_kernel_starts(folder: Path) -> None:
    """Say in a sentence why no kernel starts while the disk of `folder` is full.

    `folder` is where the connection files of kernels are.
    """

    def around(original: Callable[..., None]) -> Callable[..., None]:
        def write_error(self: Any, status_code: int, **kwargs: Any) -> None:
            if is_full((kwargs.get("exc_info") or (None, None))[1]):
                status_code = 507
                self.set_status(status_code, "Insufficient Storage")
                error = HTTPError(status_code, _describe_no_kernel(folder))
                kwargs["exc_info"] = (None, error, None)
            original(self, status_code, **kwargs)

        return write_error

    wrap(MainKernelHandler, "write_error", around)
    wrap(KernelActionHandler, "write_error", around)
    wrap(SessionRootHandler, "write_error", around)


def _describe_no_kernel(folder: Path) -> str:
    mount = next(path for path in (folder, *folder.parents) if path.is_mount())
    # Where it is no disk of its own, people still know it as /tmp.
    where = mount if mount != Path("/") else Path("/", *folder.parts[1:2])
    node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    return (
        f"{where} of {node} is full, so no kernel can start. Delete there what is yours and no"
        f" longer needed; 'find {where} -user $USER' shows it. If that is not enough, tell the"
        " administrators, and start a session on another node."
    )
