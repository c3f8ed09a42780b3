"""JupyterLab's Git panel: hidden if the server has no routes for it, else no sign of a user."""

from __future__ import annotations

import sys

EXTENSION = "@jupyterlab/git"


def count_no_polling() -> None:
    """Have the panel's questions not count as activity: it asks every 3 s while it is visible."""
    # Absent if the panel is off, or not installed.
    if handlers := sys.modules.get("jupyterlab_git.handlers"):
        handlers.GitHandler._track_activity = False
