"""Keeps a second hub from the state of one that runs."""

import contextlib
import fcntl
import os
from pathlib import Path

from spawner.errors import SiteError

FILE = "hub.lock"
# Held until this process ends, however it ends.
_held: dict[Path, int] = {}


def hold_state(folder: Path) -> None:
    """Take the hub's folder for this process; a folder of another account is left alone.

    A full disk, or one without locks, keeps no hub from starting.
    """
    # Root may load the configuration, too, but must not own what the hub has to open.
    if folder in _held or not folder.is_dir() or folder.stat().st_uid != os.geteuid():
        return
    with contextlib.suppress(OSError):
        _held[folder] = descriptor = os.open(
            folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 20).decode(errors="replace").strip()
            os.close(_held.pop(folder))
            raise SiteError(
                f"Another hub (process {holder}) uses {folder}. Stop it first. A hub of its own"
                " needs another state_dir in portal.toml."
            ) from error
        # For the sentence above only. Over the old number, which needs no room.
        os.write(descriptor, f"{os.getpid():<10}\n".encode())
