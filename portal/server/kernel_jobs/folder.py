"""Folders of the user's home, which the nodes share, for a job of a kernel or its variables."""

import os
import stat
import tempfile
from pathlib import Path

from portal.server.kernel_jobs.errors import KernelJobError

FOLDER = ".local/state/data-scientist-portal/kernels"


def make_folder(kind: str = "kernel") -> Path:
    """Make a folder for a job in the user's home, which the nodes share.

    Args:
        kind: Begins its name.
    """
    parent = Path.home() / FOLDER
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = parent.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise KernelJobError(f"{parent} is no folder of yours. Move it away, and ask again.")
    parent.chmod(0o700)
    # With mode 0700.
    return Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=parent))
