"""Folders are deleted with all that is in them, as the file browser asks before."""

from __future__ import annotations

import asyncio
import os
from functools import wraps
from typing import Any


def delete_whole_folders(contents: Any) -> None:
    """Let folders be deleted that are not empty; of a link to a folder only the link.

    Args:
        contents: Jupyter's contents manager, changed in place.
    """
    contents.always_delete_dir = True
    original = contents.delete_file

    @wraps(original)
    async def delete_file(path: str) -> None:
        try:
            await original(path)
        except OSError:
            # Jupyter removes links to folders as folders, which Python refuses.
            if not await asyncio.to_thread(_unlink, contents._get_os_path(path.strip("/"))):
                raise

    contents.delete_file = delete_file


def _unlink(path: str) -> bool:
    is_link = os.path.islink(path)
    if is_link:
        os.unlink(path)
    return is_link
