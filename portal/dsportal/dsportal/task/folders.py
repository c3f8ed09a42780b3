"""Where the folders of runs are, how they are named, and how one is created."""

import os
import re
import secrets
from datetime import datetime
from pathlib import Path

from dsportal.errors import LaunchError
from dsportal.task.folder import RunFolder

_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]+")
# Without l, o, 0 and 1, which look alike: users type these names.
_RANDOM_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


def parent_folder() -> Path:
    """Return the folder with all runs of this user."""
    return Path.home() / "portal-runs"


def folder_title(name: str) -> str:
    """Return the name of a function or script in the characters that folders use.

    At most 30 lower-case letters, digits, underscores and hyphens; "run" if none are left.
    """
    return _NOT_IN_NAMES.sub("-", name.lower()).strip("-")[:30] or "run"


def create_folder(name: str, now: datetime, parent: Path | None = None) -> RunFolder:
    """Create the folder of a new run, accessible to its user alone; `now` is local time."""
    parent = parent_folder() if parent is None else parent
    letters = folder_title(name)
    salt = "".join(secrets.choice(_RANDOM_LETTERS) for _ in range(4))
    path = parent / f"{now:%Y%m%d-%H%M%S}-{letters}-{salt}"
    try:
        parent.mkdir(mode=0o700, exist_ok=True)
        path.mkdir(mode=0o700)
        # The umask and default ACLs change the mode that mkdir is given.
        os.chmod(path, 0o700)
    except OSError as error:
        raise LaunchError(
            f"The folder of the run, {path}, cannot be made: {error.strerror}. Make room, or look "
            f"at the permissions of {parent}."
        ) from error
    return RunFolder(path)
