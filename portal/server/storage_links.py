"""The site's shared storage: its mounts on this node, and the links to them in the home."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

STORAGE_VARIABLE = "PORTAL_STORAGE"


def read_storage(environ: Mapping[str, str]) -> dict[str, Path]:
    """Return mount points by the names of their links in the home, in the order of the settings.

    They come from PORTAL_STORAGE, a JSON object of paths by name.
    """
    places: dict[str, str] = json.loads(environ.get(STORAGE_VARIABLE) or "{}")
    return {name: Path(path) for name, path in places.items()}


def link_storage(name: str, mounted: Path, home: Path) -> str:
    """Link the shared storage as `name` in the home, unless the user has something of that name.

    A broken link is replaced: the site may have moved its mount.

    Returns:
        A sentence about what is wrong, or "".
    """
    link = home / name
    if not mounted.is_dir():
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
