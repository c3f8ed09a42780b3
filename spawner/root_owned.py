"""Whether root, or one user, alone can change a program or a folder."""

import stat
from pathlib import Path


def open_to_others(program: Path, *, owner_uid: int = 0) -> Path | None:
    """Return the program, or the folder above it, that others than root and its owner can change.

    Whoever can change a folder above the program can replace it. Links count as what they lead to.

    Returns:
        None if it is theirs alone.

    Raises:
        OSError: If there is no such program.
    """
    resolved = program.resolve(strict=True)
    for path in (resolved, *resolved.parents):
        status = path.stat()
        # In a folder such as /tmp nobody can replace what is another's.
        others = 0 if status.st_mode & stat.S_ISVTX else stat.S_IWGRP | stat.S_IWOTH
        if status.st_uid not in {0, owner_uid} or status.st_mode & others:
            return path
    return None
