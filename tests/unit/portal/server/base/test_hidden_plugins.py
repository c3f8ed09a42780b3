"""Hiding plugins of JupyterLab."""

from types import SimpleNamespace
from typing import Any

from portal.server.base.hidden_plugins import hide_plugins

PANEL = "@jupyterlab/git"


def test_pages_leave_them_out() -> None:
    app = SimpleNamespace(settings={})

    hide_plugins(app, [PANEL])

    config = app.settings["page_config_hook"](None, {"disabledExtensions": ["other"]})
    assert config == {"disabledExtensions": ["other", PANEL]}


def test_what_the_hub_adds_to_pages_stays() -> None:
    def of_the_hub(handler: Any, config: dict[str, Any]) -> dict[str, Any]:
        return {**config, "hubUser": handler}

    app = SimpleNamespace(settings={"page_config_hook": of_the_hub})

    hide_plugins(app, [PANEL])

    config = app.settings["page_config_hook"]("ada", {"token": ""})
    assert config == {"token": "", "hubUser": "ada", "disabledExtensions": [PANEL]}


def test_what_is_off_elsewhere_can_be_shown() -> None:
    app = SimpleNamespace(settings={})

    hide_plugins(app, [PANEL], shown=["ours"])

    config = app.settings["page_config_hook"](None, {"disabledExtensions": ["ours", "other"]})
    assert config == {"disabledExtensions": ["other", PANEL]}
