"""Files of the shared storage, opened in a tab or downloaded from the file browser."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import AuthenticatedFileHandler
from tornado.web import HTTPError, StaticFileHandler


class SharedFilesHandler(AuthenticatedFileHandler):
    """Serves files below a link in the home as Jupyter serves those of the home itself.

    Tornado follows no link that leads out of the folder that it serves. This one, to the shared
    storage, is followed, and nothing else is: a link in the storage that leads elsewhere is not.

    Source:
        tornado 6.6, `StaticFileHandler`, `allowed_symlink_directory`.
    """

    def validate_absolute_path(self, root: str, absolute_path: str) -> str:
        """Return the file to send.

        Args:
            root: The home.
            absolute_path: What was asked for, with the link in it.

        Returns:
            Its real path.

        Raises:
            HTTPError: If it is hidden, is no file, or lies outside.
        """
        # Jupyter looks for hidden parts of the real path, and only below the home.
        asked = os.path.relpath(absolute_path, root).split(os.sep)
        if any(part.startswith(".") for part in asked) and not self.contents_manager.allow_hidden:
            raise HTTPError(404)
        found = StaticFileHandler.validate_absolute_path(self, root, absolute_path)
        return str(found)


def shared_files(root_dir: str, storage: Mapping[str, Path]) -> list[Any]:
    """Return the routes of the shared storage's files.

    Args:
        root_dir: The home, which holds the links.
        storage: Where the shared storage is mounted, by the names of the links.

    Returns:
        A route for the notebook server for each.
    """
    return [
        (
            rf"/files/({re.escape(name)}/.*)",
            SharedFilesHandler,
            {"path": root_dir, "allowed_symlink_directory": [root_dir, str(mounted)]},
        )
        for name, mounted in storage.items()
    ]
