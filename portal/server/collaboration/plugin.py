"""Several people in one document, where a session may be shared."""

from __future__ import annotations

from functools import partial

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.collaboration.documents import load_collaboration, offer_labextensions


def load(shared: Shared) -> Feature:
    """Load Jupyter's extensions for it, if they are installed."""
    if not load_collaboration(shared.server, shared.private_dir):
        return Feature()
    return Feature(start=partial(offer_labextensions, shared.server.web_app.settings))


PLUGIN = Plugin(load, is_on=lambda settings: settings.sharing.enabled)
