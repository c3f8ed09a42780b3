"""GitHandler: the questions of JupyterLab's Git panel are no sign of a user.

It asks every 3 s while it is visible, so a session with an open tab would never count as idle.

Source:
    jupyterlab_git 0.51, all of whose handlers are `GitHandler`; Jupyter Server 2.21.1,
    `JupyterHandler._track_activity`.

Shown by:
    tests/server/test_git_in_browser.py
"""

import sys


def count_no_polling() -> None:
    """Have the panel's questions not count as activity."""
    # Absent if the panel is off, or not installed.
    if handlers := sys.modules.get("jupyterlab_git.handlers"):
        handlers.GitHandler._track_activity = False
