"""Notebooks of a session for guests who only read."""

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.reading.handlers import Reading


def load(shared: Shared) -> Feature:
    """Offer the page and its websocket."""
    reading = Reading(shared.server, shared.guest_rights)
    return Feature(routes=reading.routes(), stop=reading.stop)


PLUGIN = Plugin(load, is_on=lambda settings: settings.sharing.enabled)
