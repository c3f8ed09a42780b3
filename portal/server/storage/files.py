"""Serves files of the shared storage that are opened or downloaded in the file browser."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import AuthenticatedFileHandler
from tornado.web import HTTPError, StaticFileHandler


class SharedFilesHandler(AuthenticatedFileHandler):
    """Serves files below a link in the home as Jupyter serves those of the home itself.

    Tornado follows no link that leads out of the folder that it serves. This handler follows the
    link to the shared storage, and no other: a link in the storage that leads elsewhere is refused.

    Source:
        tornado 6.6, `StaticFileHandler`, `allowed_symlink_directory`.
    """

    def validate_absolute_path(self, root: str, absolute_path: str) -> str:
        """Return the real path of the file to send; `absolute_path` goes through the link."""
        # Jupyter checks the real path for hidden parts, and only below the home.
        asked = os.path.relpath(absolute_path, root).split(os.sep)
        if any(part.startswith(".") for part in asked) and not self.contents_manager.allow_hidden:
            raise HTTPError(404)
        # Not super(): the check above stands in for Jupyter's.
        found = StaticFileHandler.validate_absolute_path(self, root, absolute_path)
        return str(found)


def shared_files(root_dir: str, storage: Mapping[str, Path]) -> list[Any]:
    """Return a route for each mount of the shared storage.

    Args:
        root_dir: The home, which holds the links.
        storage: Mount points by the names of the links.
    """
    return [
        (
            rf"/files/({re.escape(name)}/.*)",
            SharedFilesHandler,
            # Links in the storage that lead out of both are refused by Tornado.
            {"path": root_dir, "allowed_symlink_directory": [root_dir, str(mounted)]},
        )
        for name, mounted in storage.items()
    ]
