"""Makes a folder for sockets on the node's own disk that only the user can enter."""

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

# A unix socket's address holds 107 bytes; the rest is for our own folders and the name.
_MAX_PARENT_BYTES = 60


def make_private_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Make a new, empty folder with mode 0700.

    It is made in XDG_RUNTIME_DIR, else SLURM_TMPDIR, else TMPDIR, else /tmp. Sockets do not belong
    in a home on a network file system.

    Raises:
        OSError: If no folder can be made in any of these places.

    Source:
        unix(7) for the longest address; mkdtemp(3) for the mode.
    """
    parent = next(_usable_parents(environ), Path("/tmp"))  # noqa: S108
    return Path(tempfile.mkdtemp(prefix=f"dsportal-{os.getuid()}-", dir=parent))


def _usable_parents(environ: Mapping[str, str]) -> Iterator[Path]:
    for name in ("XDG_RUNTIME_DIR", "SLURM_TMPDIR", "TMPDIR"):
        parent = Path(environ.get(name, ""))
        # An unset variable becomes ".", which is not absolute.
        if not parent.is_absolute() or len(os.fsencode(parent)) > _MAX_PARENT_BYTES:
            continue
        try:
            status = parent.stat()
        except OSError:
            continue
        # If others may rename entries of the parent, they could put another folder in its place.
        is_safe = status.st_uid in {0, os.getuid()} and (
            not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or status.st_mode & stat.S_ISVTX
        )
        if is_safe and os.access(parent, os.W_OK | os.X_OK):
            yield parent
