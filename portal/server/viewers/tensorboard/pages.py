"""The TensorBoards of this session."""

from __future__ import annotations

import os

from traitlets import default

from portal.server.viewers.pages import FolderPages
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
