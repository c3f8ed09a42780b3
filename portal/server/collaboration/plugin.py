"""Several people in one document, where a session may be shared."""

from functools import partial

from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.hidden_plugins import hide_plugins
from portal.server.collaboration.documents import DISABLED, LABEXTENSIONS, load_collaboration


def load(shared: Shared) -> Feature:
    """Load Jupyter's extensions for it, if they are installed."""
    if not load_collaboration(shared.server, shared.private_dir):
        return Feature()
    web_app = shared.server.web_app
    return Feature(start=partial(hide_plugins, web_app, DISABLED, shown=LABEXTENSIONS))


PLUGIN = Plugin(load, is_on=lambda settings: settings.sharing.enabled)
