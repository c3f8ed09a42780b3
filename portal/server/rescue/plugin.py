"""Pages that fail lead to a rescue session."""

from __future__ import annotations

from functools import partial

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.rescue.failed_page import offer_rescue


def load(shared: Shared) -> Feature:
    """Offer it once JupyterHub has told where the hub is."""
    return Feature(start=partial(offer_rescue, shared.server.web_app.settings))


PLUGIN = Plugin(load)
