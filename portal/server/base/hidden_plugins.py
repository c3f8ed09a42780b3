"""Plugins of JupyterLab and Notebook that pages leave out, or show although they are off."""

from collections.abc import Collection
from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import Application


def hide_plugins(
    web_app: Application, names: Collection[str], *, shown: Collection[str] = frozenset()
) -> None:
    """Have pages leave out plugins; call it when all extensions have been loaded.

    Args:
        names: Of plugins, or of labextensions.
        shown: Those that are switched off elsewhere, and shown all the same.
    """
    # JupyterHub's own hook, if the session has been started by a hub.
    inner = web_app.settings.get("page_config_hook", lambda _handler, config: config)

    def change(handler: JupyterHandler, page_config: dict[str, Any]) -> dict[str, Any]:
        config: dict[str, Any] = inner(handler, page_config)
        off = [*config.get("disabledExtensions", ()), *names]
        return {**config, "disabledExtensions": [name for name in off if name not in shown]}

    web_app.settings["page_config_hook"] = change
