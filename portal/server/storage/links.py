"""Links in the home to the site's shared storage."""

import os
from pathlib import Path


def link_storage(name: str, mounted: Path, home: Path) -> str:
    """Link the shared storage as `name` in the home, unless the user has something of that name.

    A broken link is replaced: the site may have moved its mount.

    Returns:
        A sentence about what is wrong, or "".
    """
    link = home / name
    if not os.path.isdir(mounted):
        return (
            f"The shared storage, {mounted}, is not mounted on this node, so {link} has nothing "
            "to show. Tell the administrators."
        )
    try:
        # exists() follows the link, so this is one that leads nowhere.
        if link.is_symlink() and not link.exists():
            link.unlink()
        if not link.is_symlink() and not link.exists():
            link.symlink_to(mounted)
    except OSError as error:
        return f"The link {link} to {mounted} could not be made ({error.strerror})."
    if not os.path.samefile(link, mounted):
        return (
            f"{link} is something else than the shared storage, {mounted}, and was left alone. "
            "Rename it to get the link in the next session."
        )
    return ""
