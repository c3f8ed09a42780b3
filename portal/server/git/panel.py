"""JupyterLab's Git panel: hidden if the server has no routes for it, else no sign of a user."""

from __future__ import annotations

import sys
from typing import Any

EXTENSION = "@jupyterlab/git"


def hide_git_panel(web_app: Any) -> None:
    """Have pages leave the panel out; call it when all extensions have been loaded.

    Args:
        web_app: The notebook server's tornado application.
    """
    # JupyterHub's own hook, if the session has been started by a hub.
    inner = web_app.settings.get("page_config_hook", lambda _handler, config: config)

    def without_panel(handler: Any, page_config: dict[str, Any]) -> dict[str, Any]:
        config: dict[str, Any] = inner(handler, page_config)
        return {**config, "disabledExtensions": [*config.get("disabledExtensions", ()), EXTENSION]}

    web_app.settings["page_config_hook"] = without_panel


def count_no_polling() -> None:
    """Have the panel's questions not count as activity: it asks every 3 s while it is visible."""
    # Absent if the panel is off, or not installed.
    if handlers := sys.modules.get("jupyterlab_git.handlers"):
        handlers.GitHandler._track_activity = False
