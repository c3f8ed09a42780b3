"""Where the folders of runs are, what they are called, and how one is made."""

from __future__ import annotations

import os
import re
import secrets
from datetime import datetime
from pathlib import Path

from portal.launch.errors import LaunchError
from portal.launch.task.folder import RunFolder

_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]+")
_RANDOM_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


def parent_folder() -> Path:
    """Return the folder of all runs of this user."""
    return Path.home() / "portal-runs"


def folder_title(name: str) -> str:
    """Return the name of a function or script in the letters that folders have.

    Args:
        name: Any text.

    Returns:
        Small letters, digits, underscores and hyphens, at most 30.
    """
    return _NOT_IN_NAMES.sub("-", name.lower()).strip("-")[:30] or "run"


def create_folder(name: str, now: datetime, parent: Path | None = None) -> RunFolder:
    """Make the folder of a new run, open to its user alone.

    Args:
        name: Name of the function or script.
        now: Local time of the start.
        parent: Folder of all runs; None for `~/portal-runs`.

    Returns:
        The folder.

    Raises:
        LaunchError: If it cannot be made.
    """
    parent = parent_folder() if parent is None else parent
    letters = folder_title(name)
    salt = "".join(secrets.choice(_RANDOM_LETTERS) for _ in range(4))
    path = parent / f"{now:%Y%m%d-%H%M%S}-{letters}-{salt}"
    try:
        parent.mkdir(mode=0o700, exist_ok=True)
        path.mkdir(mode=0o700)
        os.chmod(path, 0o700)
    except OSError as error:
        raise LaunchError(
            f"The folder of the run, {path}, cannot be made: {error.strerror}. Make room, or look "
            f"at the permissions of {parent}."
        ) from error
    return RunFolder(path)
