"""Sites that allow no downloads: routes that refuse, and menus without their entries."""

from __future__ import annotations

from functools import partial

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.downloads.refused import PLUGINS, ROUTES
from portal.server.hidden_plugins import hide_plugins


def load(shared: Shared) -> Feature:
    """Refuse downloads."""
    return Feature(routes=ROUTES, start=partial(hide_plugins, shared.server.web_app, PLUGINS))


PLUGIN = Plugin(load, is_on=lambda settings: not settings.files.downloads)
