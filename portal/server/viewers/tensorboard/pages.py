"""The TensorBoards of this session."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from traitlets import default

from portal.server.viewers.pages import FolderPages
from portal.server.viewers.tensorboard.script import TensorBoardScript
from portal.server.viewers.viewer import TENSORBOARD
from spawner.session_settings import read_settings


class TensorBoards(FolderPages):
    """Starts TensorBoards and keeps track of those that run; each takes about 100 MB of memory.

    What is not configured here is what the hub says.
    """

    viewer = TENSORBOARD

    @default("python")
    def _default_python(self) -> str:
        settings = read_settings(os.environ)
        if settings.xprof_python and os.access(settings.xprof_python, os.X_OK):
            return settings.xprof_python
        told = settings.tensorboard_python
        # A session that an earlier release queued is told nothing.
        beside = Path(sys.prefix).parent / "tensorboard/bin/python"
        return told or str(beside if beside.exists() else sys.executable)

    @default("limit")
    def _default_limit(self) -> int:
        return read_settings(os.environ).tensorboard_limit

    @default("idle_timeout_s")
    def _default_idle_timeout_s(self) -> float:
        return read_settings(os.environ).tensorboard_idle_s

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.script = TensorBoardScript(self.python)

    def program_path(self) -> str:
        """Return the URL path of the script that all TensorBoards share."""
        return self.script.path(self.base_url)
