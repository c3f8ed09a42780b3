"""Files that are written whole: a reader, or a crash, finds the old content or the new one."""

import os
import secrets
from pathlib import Path


def write_whole(
    path: Path, content: bytes, *, mode: int = 0o666, survives_power_loss: bool = False
) -> None:
    """Write a file under another name in its folder, then rename it.

    A link of this name is replaced, not followed. `mode` are the permissions from the first byte
    on, less the process's umask. Without `survives_power_loss` a machine that loses its power can
    be left with an empty file; with it the content is on the disk before this returns.

    Raises:
        OSError: If there is no room, or no permission; then the old file is as it was.
    """
    # In the same folder, since a rename stays within one file system; two writers may be at work.
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            if survives_power_loss:
                file.flush()
                # Before the rename: a name may reach the disk earlier than what it names.
                os.fsync(descriptor)
        os.replace(new, path)
    # Ctrl-C too leaves no part of a file.
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    if survives_power_loss:
        # The new name is an entry of the folder.
        sync(path.parent)


def sync(path: Path) -> None:
    """Return once a file, or a folder with its names, is on the disk, where power may be lost."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
