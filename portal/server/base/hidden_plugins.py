"""Plugins of JupyterLab and Notebook that pages leave out, or show although they are off."""

from collections.abc import Collection
from typing import Any


def hide_plugins(
    web_app: Any, names: Collection[str], *, shown: Collection[str] = frozenset()
) -> None:
    """Have pages leave out plugins; call it when all extensions have been loaded.

    Args:
        web_app: The notebook server's tornado application.
        names: Of plugins, or of labextensions.
        shown: Those that are switched off elsewhere, and shown all the same.
    """
    # JupyterHub's own hook, if the session has been started by a hub.
    inner = web_app.settings.get("page_config_hook", lambda _handler, config: config)

    def change(handler: Any, page_config: dict[str, Any]) -> dict[str, Any]:
        config: dict[str, Any] = inner(handler, page_config)
        off = [*config.get("disabledExtensions", ()), *names]
        return {**config, "disabledExtensions": [name for name in off if name not in shown]}

    web_app.settings["page_config_hook"] = change
