"""Plugins of JupyterLab and Notebook that pages leave out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def hide_plugins(web_app: Any, names: Sequence[str]) -> None:
    """Have pages leave out plugins; call it when all extensions have been loaded.

    Args:
        web_app: The notebook server's tornado application.
        names: Of plugins, or of labextensions.
    """
    # JupyterHub's own hook, if the session has been started by a hub.
    inner = web_app.settings.get("page_config_hook", lambda _handler, config: config)

    def without(handler: Any, page_config: dict[str, Any]) -> dict[str, Any]:
        config: dict[str, Any] = inner(handler, page_config)
        return {**config, "disabledExtensions": [*config.get("disabledExtensions", ()), *names]}

    web_app.settings["page_config_hook"] = without
