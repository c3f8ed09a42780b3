"""The link `isilon` in the home, to the site's shared storage."""

from __future__ import annotations

import os
from pathlib import Path

LINK_NAME = "isilon"


def link_isilon(isilon_dir: Path, home: Path) -> str:
    """Make the link, unless something of the user's has its name.

    A link that leads nowhere is set right: the site may have moved its mount.

    Args:
        isilon_dir: Where the shared storage is mounted on this node.
        home: The user's home.

    Returns:
        A sentence about what is wrong, or "".
    """
    link = home / LINK_NAME
    if not isilon_dir.is_dir():
        return (
            f"The shared storage, {isilon_dir}, is not mounted on this node, so {link} has nothing "
            "to show. Tell the administrators."
        )
    try:
        if link.is_symlink() and not link.exists():
            link.unlink()
        if not link.is_symlink() and not link.exists():
            link.symlink_to(isilon_dir)
    except OSError as error:
        return f"The link {link} to {isilon_dir} could not be made ({error.strerror})."
    if not os.path.samefile(link, isilon_dir):
        return (
            f"{link} is something else than the shared storage, {isilon_dir}, and was left alone. "
            "Rename it to get the link in the next session."
        )
    return ""
