"""The TensorBoards of this session."""

from __future__ import annotations

import os
from typing import Any

from traitlets import default

from portal.server.viewers.pages import FolderPages
from portal.server.viewers.tensorboard.script import TensorBoardScript
from portal.server.viewers.viewer import TENSORBOARD
from portal.settings.session_tables import read_settings


class TensorBoards(FolderPages):
    """Starts TensorBoards and keeps track of those that run; each takes about 100 MB of memory.

    What is not configured here is what the hub says.
    """

    viewer = TENSORBOARD

    @default("python")
    def _default_python(self) -> str:
        environments = read_settings(os.environ).environments
        has_profiler = os.access(environments.xprof_python, os.X_OK)
        return environments.xprof_python if has_profiler else environments.tensorboard_python

    @default("limit")
    def _default_limit(self) -> int:
        return read_settings(os.environ).tensorboard.limit

    @default("idle_timeout_s")
    def _default_idle_timeout_s(self) -> float:
        return read_settings(os.environ).tensorboard.idle_s

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.script = TensorBoardScript(self.python)

    def program_path(self) -> str:
        """Return the URL path of the script that all TensorBoards share."""
        return self.script.path(self.base_url)
